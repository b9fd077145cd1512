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

type ResultsOfItems = WeakMap<object, Map<string, Result>>;

/** One event reaches all its watches in one turn, and a page of the log is shared for about as long. */
const SHARED_MS = 1_000;

/**
 * The results of subscriptions. Those that ask for the same of the same item at about the same time get the same result,
 * executed once: nothing that is answered depends on who asks. (Where that changes, the key has to tell callers apart.) What
 * it may depend on is the time: a result that has to be waited for is that of those who ask while it is under way.
 *
 * No result is kept for longer than that, however long its item is.
 */
export class SharedResults {
  readonly #schema: GraphQLSchema;
  readonly #present: PresentResult;
  /** The variables that the results of a document may depend on. */
  readonly #variables = new WeakMap<DocumentNode, readonly string[]>();
  /** null: there are none. */
  #recent: WeakMap<DocumentNode, ResultsOfItems> | null = null;

  constructor(schema: GraphQLSchema, present: PresentResult) {
    this.#schema = schema;
    this.#present = present;
  }

  /** How to get the result for an item that is shared with like operations. It throws nothing that `execute` does not. */
  executorOf(operation: ExecutionArgs): (item: object) => Result {
    const key = this.#keyOf(operation);
    return (item) => {
      const known = this.#resultsOf(operation.document, item);
      let result = known.get(key);
      if (result === undefined) {
        result = this.#execute(operation, item);
        known.set(key, result);
        if (result instanceof Promise) void result.finally(() => known.delete(key)).catch(ignore);
      }
      return result;
    };
  }

  #execute(operation: ExecutionArgs, item: object): Result {
    const result = execute({ ...operation, rootValue: item });
    return result instanceof Promise ? result.then(this.#present) : this.#present(result);
  }

  #resultsOf(document: DocumentNode, item: object): Map<string, Result> {
    const recent = (this.#recent ??= this.#startSharing());
    let ofItems = recent.get(document);
    if (ofItems === undefined) recent.set(document, (ofItems = new WeakMap()));
    let results = ofItems.get(item);
    if (results === undefined) ofItems.set(item, (results = new Map<string, Result>()));
    return results;
  }

  #startSharing(): WeakMap<DocumentNode, ResultsOfItems> {
    const forget = () => {
      this.#recent = null;
    };
    setTimeout(forget, SHARED_MS).unref();
    return new WeakMap();
  }

  /** The same for operations of a document whose results can't differ. */
  #keyOf({ document, operationName, variableValues }: ExecutionArgs): string {
    let variables = this.#variables.get(document);
    if (variables === undefined) this.#variables.set(document, (variables = variablesOfResults(this.#schema, document)));
    // One that is left out is not one that is null.
    const given = Object.fromEntries(variables.map((name) => [name, variableValues?.[name]]));
    return JSON.stringify([operationName, given]);
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
