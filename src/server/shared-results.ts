import {
  execute,
  Kind,
  TypeInfo,
  visit,
  visitWithTypeInfo,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
} from 'graphql';

/** Told of each result before anybody gets it. */
export type PresentResult = (result: ExecutionResult) => ExecutionResult;

interface DocumentFacts {
  readonly number: number;
  /** The variables that a result may depend on. */
  readonly variables: readonly string[];
}

/**
 * The results of subscriptions. Those that ask for the same of the same item get the same result, executed once: nothing
 * that is answered depends on who asks. (Where that changes, the key has to tell callers apart.)
 */
export class SharedResults {
  readonly #schema: GraphQLSchema;
  readonly #present: PresentResult;
  readonly #documents = new WeakMap<DocumentNode, DocumentFacts>();
  readonly #results = new WeakMap<object, Map<string, ExecutionResult>>();
  #lastNumber = 0;

  constructor(schema: GraphQLSchema, present: PresentResult) {
    this.#schema = schema;
    this.#present = present;
  }

  /** How to execute the operation for an item. Throws nothing that `execute` does not. */
  executorOf(operation: ExecutionArgs): (item: object) => ExecutionResult | Promise<ExecutionResult> {
    const key = this.#keyOf(operation);
    return (item) => {
      let known = this.#results.get(item);
      const shared = known?.get(key);
      if (shared !== undefined) return shared;
      const result = execute({ ...operation, rootValue: item });
      // Whoever had to wait asked for more than the item: for the time, say, which goes on.
      if (result instanceof Promise) return result.then(this.#present);
      const presented = this.#present(result);
      if (known === undefined) this.#results.set(item, (known = new Map<string, ExecutionResult>()));
      known.set(key, presented);
      return presented;
    };
  }

  /** The same for operations whose results can't differ. */
  #keyOf({ document, operationName, variableValues }: ExecutionArgs): string {
    const { number, variables } = this.#factsOf(document);
    // One that is left out is not one that is null.
    const given = Object.fromEntries(variables.map((name) => [name, variableValues?.[name]]));
    return JSON.stringify([number, operationName, given]);
  }

  #factsOf(document: DocumentNode): DocumentFacts {
    let facts = this.#documents.get(document);
    if (facts === undefined) {
      facts = { number: ++this.#lastNumber, variables: variablesOfResults(this.#schema, document) };
      this.#documents.set(document, facts);
    }
    return facts;
  }
}

/** All that are used elsewhere than in the arguments of the subscription itself, which say what the items are. */
function variablesOfResults(schema: GraphQLSchema, document: DocumentNode): string[] {
  const names = new Set<string>();
  const types = new TypeInfo(schema);
  visit(
    document,
    visitWithTypeInfo(types, {
      VariableDefinition: () => false,
      Argument: (_argument, _key, _parent, _path, ancestors) => {
        const owner = ancestors.at(-1);
        const isOfField = owner !== undefined && 'kind' in owner && owner.kind === Kind.FIELD;
        return isOfField && types.getParentType() === schema.getSubscriptionType() ? false : undefined;
      },
      Variable: ({ name }) => void names.add(name.value),
    }),
  );
  return [...names];
}
