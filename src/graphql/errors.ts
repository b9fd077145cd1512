import { GraphQLError } from 'graphql';
import { StoreUnavailable } from '../store/lock-store.js';

/** All that `extensions.code` may say; the schema's description explains each. */
export const ErrorCode = {
  badUserInput: 'BAD_USER_INPUT',
  unavailable: 'UNAVAILABLE',
  limitExceeded: 'OPERATION_LIMIT_EXCEEDED',
  parseFailed: 'GRAPHQL_PARSE_FAILED',
  validationFailed: 'GRAPHQL_VALIDATION_FAILED',
  unauthenticated: 'UNAUTHENTICATED',
  permissionDenied: 'PERMISSION_DENIED',
  rateLimited: 'RATE_LIMITED',
  internal: 'INTERNAL_SERVER_ERROR',
} as const;

export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/**
 * A value that breaks a documented limit or can't be read.
 *
 * @param argument the name of the argument, or of the input field, that holds the value; null: it is the request itself
 * @param message states the limit
 */
export function badUserInput(argument: string | null, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: ErrorCode.badUserInput, ...(argument === null ? {} : { argument }) } });
}

/** Keeps the details of a fault for those who run the server, and returns the id under which they find it. */
export type FaultLog = (fault: unknown) => string;

/**
 * The error as a client may see it: what the client caused, and outages, as they are documented; of everything else no
 * more than the id under which it was logged. It always has a code.
 */
export function presentError(error: unknown, logFault: FaultLog): GraphQLError {
  const located = error instanceof GraphQLError ? error : undefined;
  const cause = rootCause(error);
  if (cause instanceof StoreUnavailable) return unavailable(located, cause.applied);
  if (isReadOutage(cause)) {
    logFault(cause);
    return unavailable(located, null);
  }
  if (located !== undefined && cause instanceof GraphQLError && located.extensions['code'] !== undefined) return located;
  const refused = located === undefined ? null : asBadInput(located, cause);
  if (refused !== null) return refused;
  return withExtensions(located, 'Internal server error', { code: ErrorCode.internal, id: logFault(cause) });
}

/** The error as the caller's mistake, or null where it is none: graphql-js gives its own errors no code. */
function asBadInput(located: GraphQLError, cause: unknown): GraphQLError | null {
  const argument = unreadableArgument(located);
  // Without a path it was made before any field was resolved: of the operation, or of its variables.
  const isOfOperation = located.path === undefined;
  // A scalar may throw anything at a variable that it can't read; what a resolver throws is a fault, whatever it says.
  const isOfGraphql = cause instanceof GraphQLError || (isOfOperation && argument !== null);
  if (!isOfGraphql || !(isOfOperation || argument !== null)) return null;
  return withExtensions(located, located.message, badUserInput(argument, located.message).extensions);
}

function rootCause(error: unknown): unknown {
  let cause = error;
  while (cause instanceof GraphQLError && cause.originalError !== undefined) cause = cause.originalError;
  return cause;
}

function unavailable(located: GraphQLError | undefined, applied: false | null): GraphQLError {
  // Below the top field the change has happened already: what failed there is only a part of the answer.
  const neverApplied = applied === false && (located?.path?.length ?? 1) === 1;
  return withExtensions(located, 'The database did not answer, or the server is overloaded or shutting down', {
    code: ErrorCode.unavailable,
    retryable: true,
    ...(neverApplied ? { applied: false } : {}),
  });
}

function withExtensions(
  located: GraphQLError | undefined,
  message: string,
  extensions: Readonly<Record<string, unknown>>,
): GraphQLError {
  return new GraphQLError(message, { nodes: located?.nodes, path: located?.path, extensions });
}

/** The Prisma client only reads here, so whatever the database refuses is an outage; a query that Prisma refuses is our fault. */
function isReadOutage(error: unknown): boolean {
  return error instanceof Error && READ_OUTAGES.has(error.name);
}

// By name: the two generated clients have classes of their own.
const READ_OUTAGES: ReadonlySet<string> = new Set([
  'PrismaClientInitializationError',
  'PrismaClientKnownRequestError',
  'PrismaClientUnknownRequestError',
]);

/**
 * The argument whose value graphql-js could not read, or null where the error says nothing of the kind. graphql-js has
 * no code for it, only these sentences.
 */
function unreadableArgument({ message }: GraphQLError): string | null {
  const variable = /^Variable "\$(\w+)" (?:got invalid value|of (?:non-null|required) type)/u.exec(message)?.[1];
  if (variable === undefined) return /^Argument "(\w+)"/u.exec(message)?.[1] ?? null;
  // The sentence quotes what was sent, up to a whole request of it. With a second repetition, to find the last name at once,
  // this would take time quadratic in that.
  const path = / at "([\w.[\]]+)";/u.exec(message)?.[1];
  return path?.split(/[.[\]]/u).findLast((part) => /^[a-z_]/iu.test(part)) ?? variable;
}
