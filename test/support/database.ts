import { join } from 'node:path';
import { inject } from 'vitest';
import { applyMigrations } from '../../src/store/migrations.js';
import type { DatabaseProvider } from '../../src/store/database-url.js';
import { createMigratedPostgresqlDatabase } from './postgresql.js';
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
  const url = `file:${join(temporaryDirectory(), 'holdfast.db')}`;
  await applyMigrations(url);
  return url;
}
