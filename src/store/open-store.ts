import { statSync } from 'node:fs';
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
  const file = sqlitePath(databaseUrl);
  for (;;) {
    await applyMigrations(databaseUrl);
    const opened = statSync(file).ino;
    const store = await SqliteStore.open(file, { retryWindowMs, time: time ?? null });
    // A restore may have put another file in its place, just before there was a connection that keeps it from doing so.
    if (statSync(file, { throwIfNoEntry: false })?.ino === opened) return store;
    await store.close();
  }
}
