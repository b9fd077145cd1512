import pg from 'pg';
import { StoreUnavailable } from '../lock-store.js';

/**
 * Classes of SQLSTATE that blame the statement we sent, and nothing that could be different the next time: bad data (22), a
 * broken constraint (23), bad syntax or a missing table (42). The classes are those of PostgreSQL's appendix "Error Codes".
 * Everything else is the state of the server, of the connection or of other transactions: also what is not supported (0A),
 * which is what a standby says to a transaction that wants to write.
 */
const OUR_FAULTS = ['22', '23', '42'];

/**
 * The session is over (08, 57P), or its transaction was given up for another one (40), or because of one (55P03: it waited no
 * longer for a lock): begun anew it can succeed at once.
 */
const PASSING = /^(?:08|40|57P|25P03$|25P04$|55P03$)/;

/** Errors of the language: no driver, and no network, fails with one. */
const BUGS = [TypeError, RangeError, SyntaxError, ReferenceError];

/** Whether the database, or the way to it, is at fault, rather than the statement it was given. */
export function isOutage(error: unknown): boolean {
  // What has no SQLSTATE comes from the socket or from the driver: refused, reset, timed out.
  if (!(error instanceof pg.DatabaseError)) return !BUGS.some((bug) => error instanceof bug);
  return !OUR_FAULTS.includes((error.code ?? '').slice(0, 2));
}

/** Whether the fault ended with the connection or the transaction that had it: another one may not have it. */
export function isPassing(error: unknown): boolean {
  return error instanceof pg.DatabaseError ? PASSING.test(error.code ?? '') : isOutage(error);
}

/**
 * Whether the session may be over with this error, and its transaction stored or not: a pooler can report it and go on with another
 * session (08, 57P), and a server that fails (58, XX) ends all of them.
 */
export function endsSession({ code = '' }: pg.DatabaseError): boolean {
  return /^(?:08|57P|58|XX)/.test(code);
}

/** Names an outage as such; every other error stays what it is. */
export function namedFault(error: unknown, message: string, applied: false | null): unknown {
  return isOutage(error) ? new StoreUnavailable(message, applied, { cause: error }) : error;
}
