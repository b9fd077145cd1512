import Database from 'better-sqlite3';

import { StoreUnavailable } from '../lock-store.js';

/** Primary result codes by which the database says that it can't answer now; the driver appends details to some of them. */
const OUTAGE_CODES = [
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_CANTOPEN',
  'SQLITE_READONLY',
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
  'SQLITE_NOMEM',
  'SQLITE_PROTOCOL',
];

/** Whether the database is at fault, rather than the statement it was given. */
export function isOutage(error: unknown): error is InstanceType<typeof Database.SqliteError> {
  return error instanceof Database.SqliteError && OUTAGE_CODES.some((code) => error.code.startsWith(code));
}

/** A COMMIT that failed for one of these has certainly stored nothing. */
export function isCleanCommitFailure(error: unknown): boolean {
  return error instanceof Database.SqliteError && ['SQLITE_BUSY', 'SQLITE_FULL'].some((code) => error.code.startsWith(code));
}

/** Runs what only reads, and names an outage of the database as such. */
export function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isOutage(error)) throw new StoreUnavailable('The database could not be read', false, { cause: error });
    throw error;
  }
}
