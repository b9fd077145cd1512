import type { IncomingMessage, ServerResponse } from 'node:http';
import { GraphQLError, OperationTypeNode, type ExecutionResult } from 'graphql';
import { createYoga, type GraphQLParams, type Plugin } from 'graphql-yoga';
import type { MaskError } from './errors.js';
import { LIMITS } from './operation-limits.js';
import { isRefused, type Operations, type ResultStream } from './operations.js';
import { PATHS } from './paths.js';

interface ServerContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

const EVENT_STREAM = 'text/event-stream';

type Result = ExecutionResult | AsyncIterable<ExecutionResult>;

/**
 * Yoga reads what GraphQL over HTTP allows besides a POST of JSON, and writes the answers: GET, and server-sent events.
 * What an operation is and may do is left to {@link Operations}; all that Yoga would do by itself is off.
 */
export function createYogaHandler(operations: Operations, maskError: MaskError) {
  return createYoga<ServerContext>({
    graphqlEndpoint: PATHS.graphql,
    plugins: [useOperations(operations)],
    maskedErrors: { maskError: (error) => maskProtocolError(error, maskError) },
    maxRequestBodySize: LIMITS.messageBytes,
    logging: false,
    cors: false,
    graphiql: false,
    landingPage: false,
    batching: false,
    multipart: false,
    parserAndValidationCache: false,
    disposeOnProcessTerminate: false,
  });
}

function useOperations(operations: Operations): Plugin<object, ServerContext> {
  return {
    onParams({ request, setParamsHandler }) {
      setParamsHandler(async ({ params, context }) => {
        const result = await run(params, context, operations);
        // Yoga would prefer multipart/mixed to the stream of events where both are acceptable.
        if (Symbol.asyncIterator in result) request.headers.set('accept', EVENT_STREAM);
        return result;
      });
    },
  };
}

async function run(params: GraphQLParams, { req, res }: ServerContext, operations: Operations): Promise<Result> {
  const takesEvents = req.headers.accept?.toLowerCase().includes(EVENT_STREAM) === true;
  const { query = '', operationName, variables } = params;
  const operation = operations.prepare({ query, operationName, variables }, takesEvents ? 'sse' : 'http');
  if (isRefused(operation)) {
    return { errors: operation.map((error) => withStatus(error, error.extensions['code'] === 'UNAVAILABLE' ? 503 : 400)) };
  }
  if (operation.type === OperationTypeNode.MUTATION && req.method === 'GET') {
    return refusal('A mutation needs a POST', 405, { allow: 'POST' });
  }
  if (operation.type !== OperationTypeNode.SUBSCRIPTION) {
    const result = await operations.execute(operation);
    return 'data' in result ? result : { errors: result.errors?.map((error) => withStatus(error, 400)) };
  }
  if (!takesEvents) return refusal('A subscription needs Accept: text/event-stream, or a WebSocket', 406);

  const stream = await operations.subscribe(operation);
  if (!('next' in stream)) return stream;
  // The caller may have gone while the stream was set up: then nobody else ends it.
  if (res.destroyed) await stream.return();
  else res.once('close', () => void stream.return().catch(ignore));
  return endWithError(stream);
}

/** An event stream has no message for a failure, so it becomes the last result. */
function endWithError(stream: ResultStream): AsyncIterableIterator<ExecutionResult, void> {
  let failed = false;
  const iterator: AsyncIterableIterator<ExecutionResult, void> = {
    async next() {
      if (failed) return { done: true, value: undefined };
      try {
        return await stream.next();
      } catch (error) {
        failed = true;
        return { done: false, value: { errors: [error as GraphQLError] } };
      }
    },
    return: () => stream.return(),
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

/** What fails while nobody is left to be told. */
function ignore(): void {}

function refusal(message: string, status: number, headers: Record<string, string> = {}): ExecutionResult {
  return { errors: [new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT', http: { status, headers } } })] };
}

/** `spec`: application/json knows no such status, and says 200. Yoga keeps `http` to itself. */
function withStatus(error: GraphQLError, status: number): GraphQLError {
  const { message, nodes, source, positions, path } = error;
  const http = { status, spec: status === 400 };
  return new GraphQLError(message, { nodes, source, positions, path, extensions: { ...error.extensions, http } });
}

/** Yoga's own refusals of a request (its parameters, its method) carry the status, and no code that we document. */
function maskProtocolError(error: unknown, maskError: MaskError): GraphQLError {
  if (!(error instanceof GraphQLError) || error.extensions.http === undefined) return maskError(error);
  return new GraphQLError(error.message, { extensions: { code: 'BAD_USER_INPUT', http: error.extensions.http } });
}
