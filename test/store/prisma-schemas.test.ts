import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { MIGRATIONS_ROOT } from '../../src/store/migrations/migration-folders.js';

const schemaOf = (provider: string) => readFileSync(`${MIGRATIONS_ROOT}/${provider}/schema.prisma`, 'utf8');
const migrationsOf = (provider: string) =>
  readdirSync(`${MIGRATIONS_ROOT}/${provider}/migrations`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
const scriptOf = (provider: string, name: string) =>
  readFileSync(`${MIGRATIONS_ROOT}/${provider}/migrations/${name}/migration.sql`, 'utf8');
const scriptsOf = (provider: string) =>
  migrationsOf(provider)
    .map((name) => scriptOf(provider, name))
    .join('\n');

/**
 * Only there an instance can lose an answer on its way, and has to find its group again, and only there it has sessions which show
 * that its process has not ended.
 */
const ON_POSTGRESQL_ALONE = /^ *\/\/\/ (Of the first event of a group|The advisory lock).*\n *(groupId|sessionKey) .*\n/gm;

/** The models, without how they are laid out on the page. */
function modelsOf(provider: string): string[] {
  const schema = schemaOf(provider).replace(ON_POSTGRESQL_ALONE, '');
  const models = schema.slice(schema.search(/^(\/\/\/.*\n)?model /m));
  return models.split('\n').map((line) => line.trim().replace(/ +/g, ' '));
}

/** The columns of each table as a script creates them, in their order. */
function columnsOf(script: string): Map<string, string[]> {
  const tables = script.matchAll(/CREATE TABLE IF NOT EXISTS "(\w+)" \(\n([^]*?)\n\)/g);
  return new Map(
    [...tables].map(([, table = '', body = '']) => [table, [...body.matchAll(/^ {4}"(\w+)"/gm)].map(([, name = '']) => name)]),
  );
}

const indexesOf = (script: string) => [...script.matchAll(/^CREATE (UNIQUE )?INDEX [^;]*;$/gm)].map(([statement]) => statement);

describe('the schemas of SQLite and PostgreSQL', () => {
  test('hold the same models, but for the width of an id, how a group is found, and how an ended process is', () => {
    const sqlite = modelsOf('sqlite').map((line) =>
      line.replace(/^id Int @id @default\(autoincrement\(\)\)$/, 'id BigInt @id @default(autoincrement())'),
    );
    expect(sqlite.length).toBeGreaterThan(50);
    expect(modelsOf('postgresql')).toEqual(sqlite);
  });

  test.each(['sqlite', 'postgresql'])('name %s as their provider', (provider) => {
    expect(schemaOf(provider)).toContain(`datasource db {\n  provider = "${provider}"\n}`);
    expect(readFileSync(`${MIGRATIONS_ROOT}/${provider}/migrations/migration_lock.toml`, 'utf8')).toContain(
      `provider = "${provider}"`,
    );
  });
});

describe('the migrations of SQLite and PostgreSQL', () => {
  test('have the same names where they change tables', () => {
    const ofTables = (provider: string) =>
      migrationsOf(provider).filter((name) => /^ *(CREATE|ALTER|DROP) .*(TABLE|INDEX) /m.test(scriptOf(provider, name)));
    expect(ofTables('sqlite')).not.toEqual([]);
    expect(ofTables('postgresql')).toEqual(ofTables('sqlite'));
  });

  test('create the same columns in the same tables', () => {
    const sqlite = columnsOf(scriptsOf('sqlite'));
    expect([...sqlite.keys()]).toEqual([
      'distributed_locks',
      'lock_events',
      'lock_clock',
      'lock_waiters',
      'lock_tickets',
      'lock_grants',
      'lock_instances',
    ]);
    expect(columnsOf(scriptsOf('postgresql'))).toEqual(sqlite);
  });

  test('create the same indexes', () => {
    const sqlite = indexesOf(scriptsOf('sqlite'));
    expect(sqlite).toHaveLength(8);
    expect(indexesOf(scriptsOf('postgresql'))).toEqual(sqlite);
  });

  test('order names by code point on PostgreSQL, as SQLite does', () => {
    const names = scriptsOf('postgresql').match(/^ +"(resource|owner|request_id|waiter_id|instance)" TEXT.*$/gm) ?? [];
    expect(names).toHaveLength(12);
    expect(names.filter((line) => !line.includes('TEXT COLLATE "C"'))).toEqual([]);
  });

  test('are one transaction each on SQLite', () => {
    for (const name of migrationsOf('sqlite')) {
      const lines = scriptOf('sqlite', name).trimEnd().split('\n');
      expect(lines.find((line) => line !== '' && !line.startsWith('--'))).toBe('BEGIN;');
      expect(lines.at(-1)).toBe('COMMIT;');
    }
  });
});
