import {
  createSourceEventStream,
  execute,
  getOperationAST,
  GraphQLError,
  OperationTypeNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
} from 'graphql';
import { ErrorCode } from '../graphql/errors.js';
import type { Caller } from '../graphql/context.js';
import type { Metrics, Transport } from '../observability/metrics.js';
import { Documents } from './documents.js';
import { notBegun, type MaskError } from './errors.js';
import type { ServerLimits } from './limits.js';
import { LetIn, Load, LoadingCaller } from './load.js';
import { Results, type ResultStream } from './results.js';
import { SharedResults } from './shared-results.js';

/** What a client sends, over any transport. Its types are checked: `query` is a string, `variables` an object. */
export interface OperationRequest {
  readonly query: string;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
  readonly caller: Caller;
}

/** An operation that passed every check of its text, ready to run once. */
export interface PreparedOperation extends ExecutionArgs {
  readonly type: OperationTypeNode;
  readonly transport: Transport;
  readonly caller: LoadingCaller;
}

type Prepared = PreparedOperation | readonly GraphQLError[];

export interface OperationsOptions {
  readonly schema: GraphQLSchema;
  /** Called once for each operation. */
  readonly createContext: (caller: Caller) => object;
  readonly introspection: boolean;
  readonly limits: ServerLimits;
  readonly maskError: MaskError;
  readonly metrics: Metrics;
}

/**
 * The way of an operation from its text to its answer, the same for every transport: limits, parsing and validation
 * (once for each text), execution, masking, metrics. Nothing here throws: what went wrong is in the result.
 */
export class Operations {
  readonly #options: OperationsOptions;
  readonly #documents: Documents;
  readonly #shared: SharedResults;
  readonly #load: Load;
  #subscriptions = 0;
  readonly #subscriptionsLetIn = new LetIn();
  #accepting = true;

  constructor(options: OperationsOptions) {
    this.#options = options;
    this.#documents = new Documents(options);
    this.#load = new Load(options.limits);
    this.#shared = new SharedResults(options.schema, (result) => this.#mask(result));
  }

  /** The operation, ready to run, or why it can't be: at once, but where there are too many. */
  prepare(request: OperationRequest, transport: Transport): Prepared | Promise<readonly GraphQLError[]> {
    let prepared: Prepared | null;
    try {
      prepared = this.#prepare(request, transport);
    } catch (error) {
      prepared = [this.#options.maskError(error)];
    }
    if (prepared === null || isRefused(prepared)) this.#options.metrics.operation('unknown', transport, 'error');
    return prepared ?? this.#shed();
  }

  /** Runs a query or a mutation. */
  execute(operation: PreparedOperation): Promise<ExecutionResult> | ExecutionResult {
    this.#load.begin();
    let result: Promise<ExecutionResult> | ExecutionResult;
    try {
      result = execute(operation);
    } catch (error) {
      return this.#answer(operation, { errors: [this.#options.maskError(error)] });
    }
    if (!(result instanceof Promise)) return this.#answer(operation, result);
    return result.then(
      (value) => this.#answer(operation, value),
      (error: unknown) => this.#answer(operation, { errors: [this.#options.maskError(error)] }),
    );
  }

  /**
   * Begins a subscription: the stream of its results, or the result that says why there is none. The caller ends the
   * stream with `return`. A stream that breaks throws an error that is already masked, and has ended. Streams may share
   * their results, which nobody changes.
   */
  async subscribe(operation: PreparedOperation): Promise<ResultStream | ExecutionResult> {
    const { maskError, metrics } = this.#options;
    this.#subscriptions += 1;
    let result;
    try {
      result = await createSourceEventStream(operation);
    } catch (error) {
      result = { errors: [maskError(error)] };
    }
    if (!(Symbol.asyncIterator in result)) {
      this.#subscriptions -= 1;
      metrics.operation(operation.type, operation.transport, 'error');
      return this.#mask(result);
    }
    metrics.operation(operation.type, operation.transport, 'ok');
    const items = result[Symbol.asyncIterator]() as AsyncIterator<object, void>;
    return new Results(items, this.#shared.executorOf(operation), maskError, () => {
      this.#subscriptions -= 1;
    });
  }

  /** Refuses new operations from now on, and resolves when those under way are answered, or when the time is up. */
  async drain(timeoutMs: number): Promise<void> {
    this.#accepting = false;
    await this.#load.drain(timeoutMs);
  }

  /** null: there are too many. */
  #prepare(request: OperationRequest, transport: Transport): Prepared | null {
    if (!this.#accepting) return [notBegun('The server is shutting down')];
    const { schema, createContext, limits } = this.#options;
    const document = this.#documents.read(request.query);
    if (isRefused(document)) return document;
    const operation = getOperationAST(document, request.operationName);
    if (operation == null) return [unknownOperation(request.operationName)];
    if (operation.operation !== OperationTypeNode.SUBSCRIPTION) {
      if (!this.#load.letIn()) return null;
    } else {
      if (this.#subscriptions + this.#subscriptionsLetIn.count >= limits.subscriptions) {
        return [
          notBegun(`The server may have at most ${limits.subscriptions} subscriptions, and has as many: try another instance`),
        ];
      }
      this.#subscriptionsLetIn.add();
    }
    const caller = new LoadingCaller(request.caller, this.#load);
    return {
      type: operation.operation,
      transport,
      caller,
      schema,
      document,
      operationName: request.operationName,
      variableValues: request.variables,
      contextValue: createContext(caller),
      rootValue: undefined,
    };
  }

  async #shed(): Promise<readonly GraphQLError[]> {
    const { metrics, limits } = this.#options;
    metrics.shed();
    await this.#load.beforeRefusal();
    return [notBegun(`The server may have at most ${limits.operations} operations under way, and has as many: try again later`)];
  }

  #answer(operation: PreparedOperation, result: ExecutionResult): ExecutionResult {
    this.#load.end(operation.caller.isInLine);
    this.#options.metrics.operation(operation.type, operation.transport, result.errors === undefined ? 'ok' : 'error');
    return this.#mask(result);
  }

  #mask(result: ExecutionResult): ExecutionResult {
    const { errors } = result;
    if (errors === undefined) return result;
    return { ...result, errors: errors.map(this.#options.maskError) };
  }
}

/** Whether what was asked for is a list of reasons instead. */
export function isRefused(prepared: object): prepared is readonly GraphQLError[] {
  return Array.isArray(prepared);
}

function unknownOperation(name: string | null | undefined): GraphQLError {
  const message =
    name == null ? 'Must name one of the operations of the document' : `There is no operation named ${JSON.stringify(name)}`;
  return new GraphQLError(message, { extensions: { code: ErrorCode.validationFailed } });
}
