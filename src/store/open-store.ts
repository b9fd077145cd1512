import { statSync } from 'node:fs';
import { providerOf, sqlitePath } from './database-url.js';
import type { LockStore } from './lock-store.js';
import { applyMigrations } from './migrations.js';
import { forgetDeadInstances } from './sqlite/dead-instances.js';
import { SqliteStore } from './sqlite/sqlite-store.js';
import { timeSourceOf, type TimeCells } from './sqlite/time-cells.js';

export interface StoreOptions {
  readonly databaseUrl: string;
  /** How long retries are recognised. */
  readonly retryWindowMs: number;
  /** Where to listen for changes on PostgreSQL; null: nowhere, they are looked for once a second. Left out: the database itself. */
  readonly listenUrl?: string | null;
  /** Told on PostgreSQL why it can't listen, when that begins; null: it can again. */
  readonly onListening?: (reason: string | null) => void;
  /** A time that is set by hand; left out: the database's, which is the machine's for SQLite. */
  readonly time?: TimeCells;
}

/**
 * Opens the database, creates it if there is none, and brings its schema up to date.
 *
 * @throws UnusableDatabase where it can't be used as it is.
 */
export function openStore(options: StoreOptions): Promise<LockStore> {
  return providerOf(options.databaseUrl) === 'sqlite' ? openSqliteStore(options) : openPostgresqlStore(options);
}

async function openSqliteStore({ databaseUrl, retryWindowMs, time }: StoreOptions): Promise<LockStore> {
  const file = sqlitePath(databaseUrl);
  for (;;) {
    await applyMigrations(databaseUrl);
    forgetDeadInstances(file);
    const opened = statSync(file).ino;
    const store = await SqliteStore.open(file, { retryWindowMs, time: time ?? null });
    // A restore may have put another file in its place, just before there was a connection that keeps it from doing so.
    if (statSync(file, { throwIfNoEntry: false })?.ino === opened) return store;
    await store.close();
  }
}

/** Its driver is loaded only where it is used. */
async function openPostgresqlStore({
  databaseUrl,
  retryWindowMs,
  listenUrl = databaseUrl,
  onListening = () => undefined,
  time,
}: StoreOptions): Promise<LockStore> {
  await applyMigrations(databaseUrl);
  const { PostgresqlStore } = await import('./postgresql/postgresql-store.js');
  const source = time === undefined ? null : timeSourceOf(time);
  const wall = source === null ? null : () => source.wall();
  return new PostgresqlStore(databaseUrl, { retryWindowMs, listenUrl, onListening, wall });
}
