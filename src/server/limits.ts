/** What one operation and one connection may ask for. The same over every transport. */
export const LIMITS = {
  /** The body of a request, and one WebSocket message: 1 MiB. */
  messageBytes: 1_048_576,
  /** Lexical tokens of a document: validation takes time quadratic in them. An introspection takes about 300. */
  tokens: 2_000,
  /** Brackets within brackets in the text, whatever they mean: graphql-js' parser takes stack for each. */
  nesting: 64,
  /** Fields within fields. An introspection goes 14 deep. */
  depth: 20,
  /** Fields of the operation itself, aliases included: each is a query or a command of its own. */
  rootFields: 50,
  /** Fields in all, with every fragment counted where it is spread. */
  fields: 1_000,
  /** Values of an answer, each field counted once for each row of its page: so many take about 150 ms. */
  answerValues: 25_000,
  /** Operations under way on one WebSocket, subscriptions included. */
  operationsPerSocket: 1_000,
  /** Subscriptions under way in all, over whatever transport: each takes a few kilobytes. */
  subscriptions: 100_000,
  /** WebSockets that are open at once. */
  sockets: 10_000,
  /** Streams of server-sent events that are open at once. */
  eventStreams: 10_000,
} as const;
