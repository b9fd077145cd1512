import {
  execute,
  getOperationAST,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  subscribe,
  validate,
  GraphQLError,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
  type OperationTypeNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Metrics, Transport } from '../observability/metrics.js';
import { notBegun, withCode, type MaskError } from './errors.js';
import { checkNesting, checkShape, LIMITS } from './operation-limits.js';

/** What a client sends, over any transport. Its types are checked: `query` is a string, `variables` an object. */
export interface OperationRequest {
  readonly query: string;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
}

/** An operation that passed every check of its text, ready to run once. */
export interface PreparedOperation extends ExecutionArgs {
  readonly type: OperationTypeNode;
  readonly transport: Transport;
}

/** The results of a subscription, as they come. `return` ends it and frees what it holds. */
export type ResultStream = AsyncGenerator<ExecutionResult, void, void>;

export interface OperationsOptions {
  readonly schema: GraphQLSchema;
  /** Called once for each operation. */
  readonly createContext: () => object;
  readonly introspection: boolean;
  readonly maskError: MaskError;
  readonly metrics: Metrics;
}

/** Texts kept parsed: in number, and in UTF-16 units together. A longer text than the last is parsed each time. */
const CACHED_DOCUMENTS = 1_000;
const CACHED_TEXT = 4_000_000;
const LONGEST_CACHED_TEXT = 100_000;

/** A document may be wrong in a thousand places; a caller reads the first few. */
const REPORTED_VALIDATION_ERRORS = 20;

/**
 * The way of an operation from its text to its answer, the same for every transport: limits, parsing and validation
 * (once for each text), execution, masking, metrics. Nothing here throws: what went wrong is in the result.
 */
export class Operations {
  readonly #options: OperationsOptions;
  readonly #rules;
  readonly #documents = new LRUCache<string, DocumentNode>({
    max: CACHED_DOCUMENTS,
    maxSize: CACHED_TEXT,
    maxEntrySize: LONGEST_CACHED_TEXT,
    sizeCalculation: (_document, text) => text.length + 1,
  });
  #underWay = 0;
  #accepting = true;
  #idle: (() => void) | null = null;

  constructor(options: OperationsOptions) {
    this.#options = options;
    this.#rules = options.introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  }

  /** The operation, ready to run, or why it can't be. */
  prepare(request: OperationRequest, transport: Transport): PreparedOperation | readonly GraphQLError[] {
    const prepared = this.#prepare(request, transport);
    if (isRefused(prepared)) this.#options.metrics.operation('unknown', transport, 'error');
    return prepared;
  }

  /** Runs a query or a mutation. */
  execute(operation: PreparedOperation): Promise<ExecutionResult> | ExecutionResult {
    this.#underWay += 1;
    let result: Promise<ExecutionResult> | ExecutionResult;
    try {
      result = execute(operation) as Promise<ExecutionResult> | ExecutionResult;
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
   * stream with `return`. A stream that breaks throws an error that is already masked.
   */
  async subscribe(operation: PreparedOperation): Promise<ResultStream | ExecutionResult> {
    const { maskError, metrics } = this.#options;
    let result;
    try {
      result = await subscribe(operation);
    } catch (error) {
      result = { errors: [maskError(error)] };
    }
    if (!(Symbol.asyncIterator in result)) {
      metrics.operation(operation.type, operation.transport, 'error');
      return this.#mask(result);
    }
    metrics.operation(operation.type, operation.transport, 'ok');
    return this.#maskStream(result);
  }

  /** Refuses new operations from now on, and resolves when those under way are answered, or when the time is up. */
  async drain(timeoutMs: number): Promise<void> {
    this.#accepting = false;
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#idle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #prepare(request: OperationRequest, transport: Transport): PreparedOperation | readonly GraphQLError[] {
    if (!this.#accepting) return [notBegun('The server is shutting down')];
    const { schema, createContext } = this.#options;
    const document = this.#document(request.query);
    if (isRefused(document)) return document;
    const operation = getOperationAST(document, request.operationName);
    if (operation == null) return [unknownOperation(request.operationName)];
    return {
      type: operation.operation,
      transport,
      schema,
      document,
      operationName: request.operationName,
      variableValues: request.variables,
      contextValue: createContext(),
      rootValue: undefined,
    };
  }

  #document(text: string): DocumentNode | readonly GraphQLError[] {
    const known = this.#documents.get(text);
    if (known !== undefined) return known;
    const document = this.#parse(text);
    if (!('kind' in document)) return document;
    const errors = this.#validate(document);
    if (errors.length > 0) return errors;
    this.#documents.set(text, document);
    return document;
  }

  #parse(text: string): DocumentNode | readonly GraphQLError[] {
    const tooDeep = checkNesting(text);
    if (tooDeep !== null) return [tooDeep];
    try {
      return parse(text, { maxTokens: LIMITS.tokens });
    } catch (error) {
      if (!(error instanceof GraphQLError)) return [this.#options.maskError(error)];
      // graphql-js tells its token limit from a syntax error by the sentence alone.
      const overLimit = error.message.includes(`${LIMITS.tokens} tokens`);
      return [withCode(error, overLimit ? 'OPERATION_LIMIT_EXCEEDED' : 'GRAPHQL_PARSE_FAILED')];
    }
  }

  #validate(document: DocumentNode): readonly GraphQLError[] {
    const tooLarge = checkShape(document);
    if (tooLarge !== null) return [tooLarge];
    const errors = validate(this.#options.schema, document, this.#rules, { maxErrors: REPORTED_VALIDATION_ERRORS });
    return errors.map((error) => withCode(error, 'GRAPHQL_VALIDATION_FAILED'));
  }

  #answer(operation: PreparedOperation, result: ExecutionResult): ExecutionResult {
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#idle?.();
    this.#options.metrics.operation(operation.type, operation.transport, result.errors === undefined ? 'ok' : 'error');
    return this.#mask(result);
  }

  #mask(result: ExecutionResult): ExecutionResult {
    const { errors } = result;
    if (errors === undefined) return result;
    return { ...result, errors: errors.map((error) => this.#maskOne(error)) };
  }

  #maskOne(error: GraphQLError): GraphQLError {
    // Without a path it is not about a field: graphql-js could not read the variables, whatever a scalar threw at them.
    const isOfVariables = error.path === undefined && error.extensions['code'] === undefined;
    return this.#options.maskError(isOfVariables ? new GraphQLError(error.message, { nodes: error.nodes }) : error);
  }

  /** Not an async generator: its `return` would wait for a `next` that may never come. */
  #maskStream(stream: ResultStream): ResultStream {
    const next = async (): Promise<IteratorResult<ExecutionResult, void>> => {
      try {
        const item = await stream.next();
        return item.done === true ? item : { done: false, value: this.#mask(item.value) };
      } catch (error) {
        throw this.#options.maskError(error);
      }
    };
    const masked: ResultStream = {
      next,
      return: () => stream.return(),
      throw: (error) => stream.throw(error),
      [Symbol.asyncIterator]: () => masked,
      [Symbol.asyncDispose]: async () => void (await stream.return()),
    };
    return masked;
  }
}

/** Whether what was asked for is a list of reasons instead. */
export function isRefused<T extends object>(prepared: T | readonly GraphQLError[]): prepared is readonly GraphQLError[] {
  return Array.isArray(prepared);
}

function unknownOperation(name: string | null | undefined): GraphQLError {
  const message = name == null ? 'Must name one of the operations of the document' : `There is no operation named ${JSON.stringify(name)}`;
  return new GraphQLError(message, { extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } });
}
