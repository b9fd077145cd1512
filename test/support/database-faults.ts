import Database from 'better-sqlite3';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { providerOf, sqlitePath, type DatabaseProvider } from '../../src/store/database-url.js';
import { runSql } from './sql.js';

/** Undoes what was done to a database. */
export type Undo = () => Promise<void>;

/** From now on the database takes no event of that resource. */
export async function refuseEventsOf(databaseUrl: string, resource: string): Promise<void> {
  await createTrigger(databaseUrl, 'refuse', `BEFORE INSERT ON lock_events`, `NEW.resource = '${resource}'`, {
    sqlite: "SELECT RAISE(ABORT, 'refused')",
    postgresql: "RAISE 'refused' USING ERRCODE = 'check_violation'",
  });
}

/** From now on every transaction with an event of that resource fails, and does so only when it is to be committed. */
export async function failCommitsOf(databaseUrl: string, resource: string): Promise<void> {
  const action = await orphan(databaseUrl);
  await createTrigger(databaseUrl, 'fail', 'AFTER INSERT ON lock_events', `NEW.resource = '${resource}'`, {
    sqlite: action,
    postgresql: action,
  });
}

/** From now on the database can be read, but not be written. */
export function failWrites(databaseUrl: string): Promise<Undo> {
  return failOn(databaseUrl, 'AFTER UPDATE ON lock_clock');
}

/** From now on nobody can leave a line, not even by having a turn. */
export function failLeaving(databaseUrl: string): Promise<Undo> {
  return failOn(databaseUrl, 'AFTER DELETE ON lock_waiters');
}

/** From now on every transaction in which that happens finds that the database is not to be had. */
async function failOn(databaseUrl: string, occasion: string): Promise<Undo> {
  await createTrigger(databaseUrl, 'fail', occasion, 'true', {
    sqlite: await orphan(databaseUrl),
    postgresql: "RAISE 'no space left' USING ERRCODE = 'disk_full'",
  });
  const drop = { sqlite: 'DROP TRIGGER fail', postgresql: 'DROP FUNCTION fail CASCADE' };
  return async () => {
    await runSql(databaseUrl, drop[providerOf(databaseUrl)]);
  };
}

/** Keeps every instance from writing, which waits for its turn. */
export async function holdWriteLock(databaseUrl: string): Promise<Undo> {
  return providerOf(databaseUrl) === 'sqlite' ? holdSqlite(databaseUrl) : holdPostgresql(databaseUrl);
}

/** A statement that fails at its COMMIT: only there a deferred foreign key is looked at. */
async function orphan(databaseUrl: string): Promise<string> {
  await runSql(databaseUrl, 'CREATE TABLE parent (id INTEGER PRIMARY KEY)');
  await runSql(databaseUrl, 'CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)');
  return 'INSERT INTO child VALUES (1)';
}

/** @param when a condition on the new row, `NEW` */
async function createTrigger(
  databaseUrl: string,
  name: string,
  occasion: string,
  when: string,
  action: Readonly<Record<DatabaseProvider, string>>,
): Promise<void> {
  if (providerOf(databaseUrl) === 'sqlite') {
    await runSql(databaseUrl, `CREATE TRIGGER ${name} ${occasion} WHEN ${when} BEGIN ${action.sqlite}; END`);
  } else {
    const body = `BEGIN ${action.postgresql}; RETURN NEW; END`;
    await runSql(databaseUrl, `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ ${body} $$`);
    await runSql(databaseUrl, `CREATE TRIGGER ${name} ${occasion} FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION ${name}()`);
  }
}

function holdSqlite(databaseUrl: string): Undo {
  const database = new Database(sqlitePath(databaseUrl));
  onTestFinished(() => void database.close());
  database.exec('BEGIN IMMEDIATE');
  return async () => {
    database.exec('ROLLBACK');
  };
}

async function holdPostgresql(databaseUrl: string): Promise<Undo> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('BEGIN');
  await client.query('SELECT * FROM lock_clock FOR UPDATE');
  return async () => {
    await client.query('ROLLBACK');
  };
}
