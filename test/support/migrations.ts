import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIGRATIONS_ROOT } from '../../src/store/migrations/migration-folders.js';
import { provider } from './database.js';
import { temporaryDirectory } from './temporary-directory.js';

/** The names of all migrations, oldest first. */
export const ALL_MIGRATIONS: readonly string[] = readdirSync(`${MIGRATIONS_ROOT}/${provider}/migrations`)
  .filter((name) => !name.includes('.'))
  .sort();

/** A directory with the migrations as they are, and one more. */
export function withMigration(name: string, sql: string): string {
  const root = temporaryDirectory();
  cpSync(MIGRATIONS_ROOT, root, { recursive: true });
  const folder = join(root, provider, 'migrations', name);
  mkdirSync(folder);
  // PostgreSQL runs a script in one transaction as it is.
  writeFileSync(join(folder, 'migration.sql'), provider === 'sqlite' ? `BEGIN;\n${sql};\nCOMMIT;\n` : `${sql};\n`);
  return root;
}
