/** What may be asked for at once, and by which variable of the environment that is set. */
export interface Limit {
  readonly variable: string;
  readonly fallback: number;
  readonly max: number;
}

const MAX_INT = 2_147_483_647;

/**
 * The limits of requests, operations and connections: the same over every transport. What single values may be (names, metadata,
 * pages) is part of the API, and the same on every server.
 */
export const LIMITS = {
  /** The body of a request, and one WebSocket message: 1 MiB. */
  messageBytes: limit('MAX_MESSAGE_BYTES', 1_048_576, 104_857_600),
  /** Lexical tokens of a document: validation takes time quadratic in them. An introspection takes about 300. */
  tokens: limit('MAX_TOKENS', 2_000, 20_000),
  /** Brackets within brackets in the text, whatever they mean: graphql-js' parser takes stack for each. */
  nesting: limit('MAX_NESTING', 64, 500),
  /** Fields within fields. An introspection goes 14 deep. */
  depth: limit('MAX_DEPTH', 20, 500),
  /** Fields of the operation itself, aliases included: each is a query or a command of its own. */
  rootFields: limit('MAX_ROOT_FIELDS', 50),
  /** Fields in all, aliases included, with every fragment counted where it is spread. */
  fields: limit('MAX_FIELDS', 1_000),
  /** Directives in the text of a document. */
  directives: limit('MAX_DIRECTIVES', 50),
  /** Values of an answer, each field counted once for each row of its page: so many take about 150 ms. */
  answerValues: limit('MAX_ANSWER_VALUES', 25_000),
  /** Queries and mutations under way in all. More would only make each other late, so they are refused. */
  operations: limit('MAX_OPERATIONS', 1_000),
  /** Of these, calls that stand in line do not count. So many may: each takes up to 10 KB. */
  waitingCalls: limit('MAX_WAITING_CALLS', 100_000),
  /** Subscriptions under way in all: each takes a few kilobytes. */
  subscriptions: limit('MAX_SUBSCRIPTIONS', 100_000),
  /** Operations under way on one WebSocket, subscriptions included. */
  operationsPerSocket: limit('MAX_OPERATIONS_PER_WEBSOCKET', 1_000),
  /**
   * Connections that are open at once, whatever they are used for: all the WebSockets and streams that there may be by default,
   * and as many as of either for requests. What is being sent on each, a request or a message, is kept until it is whole: as
   * many bytes as one may have times as many connections is the most of it, 30 GiB by default.
   */
  connections: limit('MAX_CONNECTIONS', 30_000),
  /** WebSockets that are open at once. */
  sockets: limit('MAX_WEBSOCKETS', 10_000),
  /** How long a WebSocket may take to send its connection_init: else it is closed with 4408. */
  initTimeoutMs: limit('INIT_TIMEOUT_MS', 3_000),
  /** Streams of server-sent events that are open at once. */
  eventStreams: limit('MAX_EVENT_STREAMS', 10_000),
  /** Documents that are kept parsed and validated. */
  cachedDocuments: limit('CACHED_DOCUMENTS', 1_000, 1_000_000),
} as const satisfies Record<string, Limit>;

export type ServerLimits = Readonly<Record<keyof typeof LIMITS, number>>;

/** The limits, each as `valueOf` says. */
export function limitsOf(valueOf: (limit: Limit) => number): ServerLimits {
  return Object.freeze(Object.fromEntries(Object.entries(LIMITS).map(([name, limit]) => [name, valueOf(limit)]))) as ServerLimits;
}

export const DEFAULT_LIMITS = limitsOf(({ fallback }) => fallback);

function limit(variable: string, fallback: number, max = MAX_INT): Limit {
  return { variable, fallback, max };
}
