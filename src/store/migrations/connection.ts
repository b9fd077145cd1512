import { isDriverAdapterError, type SqlQueryable } from '@prisma/driver-adapter-utils';
import type { MigrationRecord } from './history.js';

/** One connection to a database that may have to be migrated. */
export interface MigrationConnection {
  /** What was done before; empty for a database that was never migrated. Changes nothing. */
  records(): Promise<readonly MigrationRecord[]>;

  /**
   * Begins the one transaction in which the schema changes, and keeps out every other process that would change it. The
   * transaction, and with it the lock, ends with the process, however that dies.
   */
  begin(): Promise<void>;

  /** Only between {@link begin} and {@link commit}: what Prisma's engine works through. */
  readonly engineConnection: EngineConnection;

  commit(): Promise<void>;

  /** Undoes what was begun, and closes. */
  close(): Promise<void>;

  /** Whether the error only says that another process holds the database now: then a new attempt may succeed. */
  isBusy(error: unknown): boolean;
}

/** A connection as Prisma's engine sees it: it runs statements, but the transaction is not the engine's to end. */
export interface EngineConnection extends SqlQueryable {
  executeScript(script: string): Promise<void>;
}

/** Reads what Prisma recorded in its own table. */
export async function readRecords(connection: SqlQueryable): Promise<MigrationRecord[]> {
  const { rows } = await connection.queryRaw({
    sql: `SELECT migration_name,
                 CASE WHEN finished_at IS NULL THEN 0 ELSE 1 END AS finished,
                 CASE WHEN rolled_back_at IS NULL THEN 0 ELSE 1 END AS rolled_back
          FROM _prisma_migrations`,
    args: [],
    argTypes: [],
  });
  return rows.map(([name, finished, rolledBack]) => ({
    name: String(name),
    finished: finished === 1,
    rolledBack: rolledBack === 1,
  }));
}

/** Runs one statement that takes no arguments. */
export async function run(connection: SqlQueryable, sql: string): Promise<unknown[][]> {
  return (await connection.queryRaw({ sql, args: [], argTypes: [] })).rows;
}

/** Whether the database failed with that code, or with one that begins with it. */
export function failedWith(error: unknown, code: string): boolean {
  return isDriverAdapterError(error) && error.cause.originalCode?.startsWith(code) === true;
}

/** What the database said, where the error comes from it. */
export function driverMessage(error: unknown): string {
  if (isDriverAdapterError(error) && error.cause.originalMessage !== undefined) return error.cause.originalMessage;
  return error instanceof Error ? error.message : String(error);
}
