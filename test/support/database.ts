import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { applyMigrations } from '../../src/store/migrations.js';
import { sqlitePath, type DatabaseProvider } from '../../src/store/database-url.js';
import { createMigratedPostgresqlDatabase, createPostgresqlDatabase } from './postgresql.js';
import { temporaryDirectory } from './temporary-directory.js';

declare module 'vitest' {
  interface ProvidedContext {
    database: DatabaseProvider;
  }
}

/** On which kind of database the tests run now: each project of the configuration has one, and runs what is to hold on both. */
export const provider = inject('database');

/** The URL of a new database of that kind, with its schema up to date. It is gone when the test is over. */
export async function createDatabase(): Promise<string> {
  if (provider === 'postgresql') return createMigratedPostgresqlDatabase();
  const url = await createEmptyDatabase();
  writeFileSync(sqlitePath(url), await (migratedFile ??= readMigratedFile()));
  return url;
}

/** Once it is there, a copy of it takes far less time than to bring a database up to date. */
let migratedFile: Promise<Buffer> | undefined;

async function readMigratedFile(): Promise<Buffer> {
  const url = await createEmptyDatabase();
  await applyMigrations(url);
  return readFileSync(sqlitePath(url));
}

/** The same without any table; of SQLite's there is not even a file. */
export async function createEmptyDatabase(): Promise<string> {
  return provider === 'postgresql' ? createPostgresqlDatabase() : `file:${join(temporaryDirectory(), 'holdfast.db')}`;
}
