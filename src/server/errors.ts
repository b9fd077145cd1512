import { randomUUID } from 'node:crypto';
import { GraphQLError } from 'graphql';
import { presentError } from '../graphql/errors.js';
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
  return (error) => {
    const presented = presentError(error, logFault);
    return presented.extensions['code'] === undefined ? withCode(presented, 'BAD_USER_INPUT') : presented;
  };
}

export function badUserInput(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } });
}

/** The operation was not begun, so whatever it asked for did not happen. */
export function notBegun(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'UNAVAILABLE', retryable: true, applied: false } });
}

/** The same error, at the same place of the document, with a code. */
export function withCode(error: GraphQLError, code: string): GraphQLError {
  const { message, nodes, source, positions, path, extensions } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions: { ...extensions, code } });
}
