import { readFileSync } from 'node:fs';
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import { PrismaPg } from '@prisma/adapter-pg';
import { ColumnTypeEnum, type SqlDriverAdapter } from '@prisma/driver-adapter-utils';
import { expect, test } from 'vitest';
import { sqlitePath } from '../../src/store/database-url.js';
import { MIGRATIONS_ROOT } from '../../src/store/migrations/migration-folders.js';
import { openSchemaEngine } from '../../src/store/migrations/schema-engine.js';
import { createDatabase, provider as kind } from '../support/database.js';

const SCHEMA = readFileSync(`${MIGRATIONS_ROOT}/${kind}/schema.prisma`, 'utf8');

function connect(databaseUrl: string): Promise<SqlDriverAdapter> {
  return kind === 'sqlite' ? connectToSqlite(databaseUrl) : connectToPostgresql(databaseUrl);
}

/** Where the engine meets a partial index, it asks for its name in double quotes, which this build takes for that of a column. */
async function connectToSqlite(databaseUrl: string): Promise<SqlDriverAdapter> {
  const adapter = await new PrismaBetterSqlite3({ url: sqlitePath(databaseUrl) }).connect();
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = (query) => queryRaw({ ...query, sql: query.sql.replace(/ name = "(\w+)"/, ` name = '$1'`) });
  return adapter;
}

/** The adapter does not know the type in which PostgreSQL tells the kind of a constraint: a single byte. */
async function connectToPostgresql(databaseUrl: string): Promise<SqlDriverAdapter> {
  const adapter = await new PrismaPg({ connectionString: databaseUrl }).connect();
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = async (query) => {
    const sql = query.sql.replace(/\b\w+\.(contype|confdeltype|confupdtype)\b/g, '$&::text');
    const result = await queryRaw({ ...query, sql });
    const { Character } = ColumnTypeEnum;
    const columnTypes = result.columnTypes.map((type, n) => (result.columnNames[n] === 'constraint_type' ? Character : type));
    return { ...result, columnTypes };
  };
  return adapter;
}

/** The SQL that would lead from the database to the schema. */
async function drift(databaseUrl: string, content: string): Promise<string | null> {
  const adapter = await connect(databaseUrl);
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

test('the migrations lead to exactly the schema', async () => {
  expect(await drift(await createDatabase(), SCHEMA)).toBe('-- This is an empty migration.\n');
});

test('a schema with a column that no migration brings is noticed', async () => {
  const changed = SCHEMA.replace('owner          String', 'owner          String\n  colour         String?');
  expect(await drift(await createDatabase(), changed)).toMatch(/ADD COLUMN +"colour" TEXT/);
});
