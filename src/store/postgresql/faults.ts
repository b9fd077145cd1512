import pg from 'pg';
import { StoreUnavailable } from '../lock-store.js';

/**
 * Classes of SQLSTATE that blame the statement we sent, and nothing that could be different the next time: what was asked is
 * not supported (0A), bad data (22), a broken constraint (23), bad syntax or a missing table (42). The classes are those of
 * PostgreSQL's appendix "Error Codes". Everything else is the state of the server, of the connection or of other transactions.
 */
const OUR_FAULTS = ['0A', '22', '23', '42'];

/** Whether the database, or the way to it, is at fault, rather than the statement it was given. */
export function isOutage(error: unknown): boolean {
  // What has no SQLSTATE comes from the socket or from the driver: refused, reset, timed out.
  return !(error instanceof pg.DatabaseError) || !OUR_FAULTS.includes((error.code ?? '').slice(0, 2));
}

/** Names an outage as such; every other error stays what it is. */
export function namedFault(error: unknown, message: string, applied: false | null): unknown {
  return isOutage(error) ? new StoreUnavailable(message, applied, { cause: error }) : error;
}
