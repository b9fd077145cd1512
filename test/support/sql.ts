import Database from 'better-sqlite3';
import pg from 'pg';
import { providerOf, sqlitePath } from '../../src/store/database-url.js';
import { withClient } from './postgresql/client.js';

/** Whole numbers come as bigints, whatever the database. */
export type Row = Readonly<Record<string, unknown>>;

type Value = bigint | number | string;

/** Runs one statement as somebody else than the service does; its values are called `$1`, `$2` and so on. */
export async function runSql(databaseUrl: string, sql: string, values: readonly Value[] = []): Promise<Row[]> {
  if (providerOf(databaseUrl) === 'postgresql') return runOnPostgresql(databaseUrl, sql, values);
  const database = new Database(sqlitePath(databaseUrl));
  try {
    const statement = database.prepare<unknown[], Row>(sql).safeIntegers();
    const named = Object.fromEntries(values.map((value, index) => [index + 1, value]));
    if (statement.reader) return statement.all(named);
    statement.run(named);
    return [];
  } finally {
    database.close();
  }
}

/** Adds rows to a table, many at once; each has all the columns that the first one has. */
export async function insertRows(databaseUrl: string, table: string, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const values = [JSON.stringify(rows)];
  if (providerOf(databaseUrl) === 'sqlite') {
    const fields = columns.map((column) => `value ->> '${column}'`);
    await runSql(databaseUrl, `INSERT INTO ${table} (${columns.join()}) SELECT ${fields.join()} FROM json_each($1)`, values);
  } else {
    const source = `json_populate_recordset(NULL::${table}, $1)`;
    await runSql(databaseUrl, `INSERT INTO ${table} (${columns.join()}) SELECT ${columns.join()} FROM ${source}`, values);
    // It does so by itself, but only within a minute; until then it plans for a table that is almost empty.
    await runSql(databaseUrl, `ANALYZE ${table}`);
  }
}

const types = new pg.TypeOverrides();
for (const type of [pg.types.builtins.INT2, pg.types.builtins.INT4, pg.types.builtins.INT8]) types.setTypeParser(type, BigInt);

function runOnPostgresql(databaseUrl: string, sql: string, values: readonly Value[]): Promise<Row[]> {
  return withClient(databaseUrl, async (client) => (await client.query<Row>({ text: sql, values: [...values], types })).rows);
}
