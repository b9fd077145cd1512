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

type Result = ExecutionResult | Promise<ExecutionResult>;

interface DocumentFacts {
  readonly number: number;
  /** The variables that a result may depend on. */
  readonly variables: readonly string[];
}

/**
 * The results of subscriptions. Those that ask for the same of the same item get the same result, executed once: nothing
 * that is answered depends on who asks. (Where that changes, the key has to tell callers apart.) What it may depend on is the
 * time: a result that has to be waited for is that of those who ask while it is under way.
 */
export class SharedResults {
  readonly #schema: GraphQLSchema;
  readonly #present: PresentResult;
  readonly #documents = new WeakMap<DocumentNode, DocumentFacts>();
  readonly #results = new WeakMap<object, Map<string, Result>>();
  #lastNumber = 0;

  constructor(schema: GraphQLSchema, present: PresentResult) {
    this.#schema = schema;
    this.#present = present;
  }

  /** How to get the result for an item that is shared with like operations. It throws nothing that `execute` does not. */
  executorOf(operation: ExecutionArgs): (item: object) => Result {
    const key = this.#keyOf(operation);
    return (item) => {
      const known = this.#resultsOf(item);
      let result = known.get(key);
      if (result === undefined) {
        result = this.execute(operation, item);
        known.set(key, result);
        if (result instanceof Promise) void result.finally(() => known.delete(key)).catch(ignore);
      }
      return result;
    };
  }

  /** The result for that item, made for this operation alone. Throws nothing that `execute` does not. */
  execute(operation: ExecutionArgs, item: object): Result {
    const result = execute({ ...operation, rootValue: item });
    return result instanceof Promise ? result.then(this.#present) : this.#present(result);
  }

  #resultsOf(item: object): Map<string, Result> {
    let results = this.#results.get(item);
    if (results === undefined) this.#results.set(item, (results = new Map<string, Result>()));
    return results;
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

/** Whoever asked for the result is told. */
function ignore(): void {}
