import { sqlitePath } from './database-url.js';
import type { LockStore } from './lock-store.js';
import { applyMigrations } from './migrations.js';
import { SqliteStore } from './sqlite/sqlite-store.js';
import type { TimeCells } from './sqlite/time-cells.js';

export interface StoreOptions {
  readonly databaseUrl: string;
  /** How long retries are recognised. */
  readonly retryWindowMs: number;
  /** A time that is set by hand; left out: the machine's. */
  readonly time?: TimeCells;
}

/**
 * Opens the database, creates it if there is none, and brings its schema up to date.
 *
 * @throws UnusableDatabase where it can't be used as it is.
 */
export async function openStore({ databaseUrl, retryWindowMs, time }: StoreOptions): Promise<LockStore> {
  await applyMigrations(databaseUrl);
  return SqliteStore.open(sqlitePath(databaseUrl), { retryWindowMs, time: time ?? null });
}
