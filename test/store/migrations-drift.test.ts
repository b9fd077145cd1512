import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { MIGRATIONS_ROOT } from '../../src/store/migrations/migration-folders.js';
import { openSchemaEngine } from '../../src/store/migrations/schema-engine.js';
import { applyMigrations } from '../../src/store/migrations.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const SCHEMA = readFileSync(`${MIGRATIONS_ROOT}/sqlite/schema.prisma`, 'utf8');

async function migrated(): Promise<string> {
  const path = join(temporaryDirectory(), 'holdfast.db');
  await applyMigrations(`file:${path}`);
  return path;
}

/**
 * A connection for the engine. Where it meets a partial index, it asks for its name in double quotes, which this build of
 * SQLite takes for the name of a column.
 */
async function connect(path: string): Promise<SqlDriverAdapter> {
  const adapter = await new PrismaBetterSqlite3({ url: path }).connect();
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = (query) => queryRaw({ ...query, sql: query.sql.replace(/ name = "(\w+)"/, ` name = '$1'`) });
  return adapter;
}

/** The SQL that would lead from the database to the schema. */
async function drift(path: string, content: string): Promise<string | null> {
  const adapter = await connect(path);
  const { provider, adapterName } = adapter;
  const connected = () => Promise.resolve(adapter);
  const engine = await openSchemaEngine({ provider, adapterName, connect: connected, connectToShadowDb: connected });
  const files = [{ path: 'schema.prisma', content }];
  const { stdout } = await engine.diff({
    from: { tag: 'schemaDatasource', files, configDir: MIGRATIONS_ROOT },
    to: { tag: 'schemaDatamodel', files },
    script: true,
    exitCode: null,
    filters: { externalTables: [], externalEnums: [] },
  });
  engine.free();
  await adapter.dispose();
  return stdout;
}

function declarations(path: string): string[] {
  const database = new Database(path);
  const sql = database.prepare('SELECT sql FROM sqlite_master WHERE sql IS NOT NULL').pluck().all() as string[];
  database.close();
  return sql;
}

test('the migrations of SQLite lead to exactly the schema', async () => {
  expect(await drift(await migrated(), SCHEMA)).toBe('-- This is an empty migration.\n');
});

test('a schema with a column that no migration brings is noticed', async () => {
  const changed = SCHEMA.replace('owner          String', 'owner          String\n  colour         String?');
  expect(await drift(await migrated(), changed)).toContain('ADD COLUMN "colour" TEXT');
});

test('the log is stored in the order of its revisions, and ids are never given out again', async () => {
  const sql = declarations(await migrated());
  expect(sql.find((text) => text.startsWith('CREATE TABLE "lock_events"'))).toMatch(
    /"revision" BIGINT NOT NULL PRIMARY KEY[^]*WITHOUT ROWID$/,
  );
  expect(sql.find((text) => text.startsWith('CREATE TABLE "distributed_locks"'))).toContain(
    '"id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT',
  );
});

test('requestIds are indexed where there is one', async () => {
  expect(declarations(await migrated())).toContainEqual(
    expect.stringMatching(/"lock_events_request_idx".*\nWHERE "request_id" IS NOT NULL AND "type" = 'ACQUIRED'$/),
  );
});
