import type { IncomingMessage, ServerResponse } from 'node:http';
import { GraphQLError, OperationTypeNode, visit, type ExecutionResult } from 'graphql';
import { createYoga, type GraphQLHTTPExtensions, type GraphQLParams, type Plugin } from 'graphql-yoga';
import { badUserInput } from '../graphql/errors.js';
import { HOLDING_FIELD } from '../graphql/hold-lock.js';
import type { StreamPosition } from '../graphql/stream-position.js';
import { EVENT_STREAM, JSON_TYPE, type MediaType } from './accept.js';
import { sendEvents } from './event-stream.js';
import type { EventStreams } from './event-streams.js';
import { notBegun, statusOfRefusal, type MaskError } from './errors.js';
import { httpCaller } from './http-caller.js';
import { isRefused, type Operations, type PreparedOperation } from './operations.js';
import { PATHS } from './paths.js';
import type { PeerWatch } from './peer-watch.js';
import type { ReadRequest } from './request-body.js';
import { readBodyParams, readSearchParams } from './request-params.js';
import type { ResultStream } from './results.js';

interface ServerContext {
  readonly req: ReadRequest;
  readonly res: ServerResponse;
  /** What the caller takes, the type that it would rather have first; there is one. */
  readonly accepted: readonly MediaType[];
}

export interface YogaOptions {
  readonly operations: Operations;
  readonly maskError: MaskError;
  readonly streams: EventStreams;
  readonly peers: PeerWatch;
}

export type YogaHandler = ReturnType<typeof createYogaHandler>;

/**
 * Yoga answers what GraphQL over HTTP allows besides a POST of JSON: GET, and streams, though the events of these are written
 * here. What an operation is and may do is left to {@link Operations}; all that Yoga would do by itself is off.
 */
export function createYogaHandler(options: YogaOptions) {
  const { maskError } = options;
  return createYoga<ServerContext>({
    graphqlEndpoint: PATHS.graphql,
    plugins: [useOperations(options)],
    maskedErrors: { maskError: (error) => maskProtocolError(error, maskError) },
    // The body was read before, within its limit.
    maxRequestBodySize: false,
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

function useOperations(options: YogaOptions): Plugin<object, ServerContext> {
  return {
    onRequestParse({ request, serverContext: { req, accepted }, setRequestParser }) {
      // Yoga knows no q: it is told the one type that the caller would rather have.
      request.headers.set('accept', accepted[0] ?? JSON_TYPE);
      setRequestParser(() => readParams(req));
    },
    onParams({ setParamsHandler }) {
      setParamsHandler(({ params, context }) => run(params, context, options));
    },
    // Whether a connection is kept is the server's to say, which may be shutting down.
    onResponse: ({ response }) => response.headers.delete('connection'),
  };
}

/** @throws a GraphQLError that says what is wrong with them. */
function readParams({ body, url = '' }: ReadRequest): GraphQLParams {
  const params = body === undefined ? readSearchParams(url.slice(url.indexOf('?') + 1)) : readBodyParams(body);
  if (typeof params === 'string') throw withHttp(badUserInput(null, params), { status: 400 });
  return params as GraphQLParams;
}

async function run(
  params: GraphQLParams,
  { req, res, accepted }: ServerContext,
  { operations, streams, peers }: YogaOptions,
): Promise<ExecutionResult> {
  const takesEvents = accepted.includes(EVENT_STREAM);
  const { query = '', operationName, variables } = params;
  const position: StreamPosition = { lastEventId: lastEventIdOf(req), revision: null };
  const request = { query, operationName, variables, caller: httpCaller(res, position) };
  const operation = await operations.prepare(request, accepted[0] === EVENT_STREAM ? 'sse' : 'http');
  if (isRefused(operation)) return refused(operation);
  if (req.method === 'GET' && changesLocks(operation)) {
    return refusal('What changes a lock needs a POST', 405, { allow: 'POST' });
  }
  if (operation.type !== OperationTypeNode.SUBSCRIPTION) {
    const result = await operations.execute(operation);
    return 'data' in result ? result : refused(result.errors ?? []);
  }
  if (!takesEvents) return refusal('A subscription needs Accept: text/event-stream, or a WebSocket', 406);
  if (streams.isFull) {
    return refused([notBegun(`The server may have at most ${streams.limit} event streams, and has as many: try another instance`)]);
  }

  streams.add(res);
  const stream = await operations.subscribe({ ...operation, transport: 'sse' });
  if (!('next' in stream)) return stream;
  // The caller may have gone while the stream was set up: then nobody else ends it.
  if (res.destroyed) {
    await stream.return();
    return {};
  }
  res.once('close', () => void stream.return().catch(ignore));
  await sendEvents(res, endWithError(stream), position, peers);
  // The response has ended, or its peer is gone: Yoga writes nothing to it.
  return {};
}

/** Mutations do, and the subscription that holds a lock. */
function changesLocks({ type, document }: PreparedOperation): boolean {
  if (type !== OperationTypeNode.SUBSCRIPTION) return type === OperationTypeNode.MUTATION;
  let holds = false;
  visit(document, { Field: ({ name }) => void (holds ||= name.value === HOLDING_FIELD) });
  return holds;
}

function lastEventIdOf({ headers }: IncomingMessage): string | null {
  const id = headers['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : null;
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
  return { errors: [withHttp(badUserInput(null, message), { status, headers })] };
}

function refused(errors: readonly GraphQLError[]): ExecutionResult {
  const { status, headers } = statusOfRefusal(errors);
  // `spec`: not where the answer is application/json.
  return { errors: errors.map((error) => withHttp(error, { status, headers, spec: status === 400 })) };
}

/** Yoga keeps `http` to itself. */
function withHttp(error: GraphQLError, http: GraphQLHTTPExtensions): GraphQLError {
  const { message, nodes, source, positions, path, extensions } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions: { ...extensions, http } });
}

/** What has a status of HTTP was made here. */
function maskProtocolError(error: unknown, maskError: MaskError): GraphQLError {
  return error instanceof GraphQLError && error.extensions.http !== undefined ? error : maskError(error);
}
