import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { MigrationList } from '@prisma/schema-engine-wasm/schema_engine_bg';
import type { DatabaseProvider } from '../database-url.js';

/** Where the migrations of all databases are; the same from `src` and from `dist`. */
export const MIGRATIONS_ROOT = fileURLToPath(new URL('../../../prisma', import.meta.url));

/** The migrations this program knows for a database, in the form in which Prisma's engine wants them. */
export function readMigrations(root: string, provider: DatabaseProvider): MigrationList {
  const baseDir = `${root}/${provider}/migrations`;
  const names = readdirSync(baseDir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  return {
    baseDir,
    lockfile: { path: 'migration_lock.toml', content: readFileSync(`${baseDir}/migration_lock.toml`, 'utf8') },
    shadowDbInitScript: '',
    migrationDirectories: names.map((name) => ({
      path: name,
      migrationFile: {
        path: 'migration.sql',
        content: { tag: 'ok', value: readFileSync(`${baseDir}/${name}/migration.sql`, 'utf8') },
      },
    })),
  };
}
