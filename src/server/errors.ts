import { randomUUID } from 'node:crypto';
import { GraphQLError } from 'graphql';
import { ErrorCode, presentError } from '../graphql/errors.js';
import type { Logger } from '../observability/logger.js';
import type { Metrics } from '../observability/metrics.js';

/** Turns whatever went wrong into what a caller may see: a documented code, and nothing of the server's insides. */
export type MaskError = (error: unknown) => GraphQLError;

/** What is neither documented nor the caller's own mistake is logged under an id, which is all the caller is told. */
export function createMaskError(logger: Logger, metrics: Metrics): MaskError {
  const logFault = (fault: unknown): string => {
    const errorId = randomUUID();
    metrics.fault();
    logger.error({ errorId, err: fault }, 'internal error');
    return errorId;
  };
  return (error) => presentError(error, logFault);
}

/** The operation was not begun, so whatever it asked for did not happen. */
export function notBegun(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: ErrorCode.unavailable, retryable: true, applied: false } });
}

export function limitExceeded(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: ErrorCode.limitExceeded } });
}

/** The same error, at the same place of the document, with a code. */
export function withCode(error: GraphQLError, code: ErrorCode): GraphQLError {
  const { message, nodes, source, positions, path, extensions } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions: { ...extensions, code } });
}

/** How HTTP tells that an operation was refused before it was executed. */
export interface RefusalStatus {
  /** 400: application/json knows no such status, and says 200. */
  readonly status: 503 | 400;
  readonly headers: Readonly<Record<string, string>>;
}

const UNAVAILABLE: RefusalStatus = { status: 503, headers: { 'retry-after': '1' } };
const WRONG: RefusalStatus = { status: 400, headers: {} };

export function statusOfRefusal(errors: readonly GraphQLError[]): RefusalStatus {
  return errors.some(({ extensions }) => extensions['code'] === ErrorCode.unavailable) ? UNAVAILABLE : WRONG;
}
