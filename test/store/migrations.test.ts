import { describe, expect, test } from 'vitest';
import { applyMigrations } from '../../src/store/migrations.js';
import { createDatabase, createEmptyDatabase, provider } from '../support/database.js';
import { ALL_MIGRATIONS, withMigration } from '../support/migrations.js';
import { runSql, type Row } from '../support/sql.js';

const clockOf = (url: string) => runSql(url, 'SELECT id, revision, oldest_revision, at FROM lock_clock');

async function logIdOf(url: string): Promise<string> {
  const [row] = await runSql(url, 'SELECT log_id FROM lock_clock');
  return String(row?.['log_id']);
}

const TABLES = {
  sqlite: `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name`,
  postgresql: `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY name`,
};

async function tablesOf(url: string): Promise<string[]> {
  return (await runSql(url, TABLES[provider])).map(({ name }) => String(name));
}

/** Everything that a start could change. */
async function stateOf(url: string): Promise<readonly [string[], Row[], Row[]]> {
  return [await tablesOf(url), await runSql(url, 'SELECT * FROM _prisma_migrations'), await clockOf(url)];
}

describe('a start on an empty database', () => {
  test('creates the tables, and a log that begins at revision 0', async () => {
    const url = await createEmptyDatabase();
    expect(await applyMigrations(url)).toEqual(ALL_MIGRATIONS);
    expect(await tablesOf(url)).toEqual([
      '_prisma_migrations',
      'distributed_locks',
      'lock_clock',
      'lock_events',
      'lock_grants',
      'lock_instances',
      'lock_tickets',
      'lock_waiters',
    ]);
    expect(await clockOf(url)).toEqual([{ id: 1n, revision: 0n, oldest_revision: 0n, at: 0n }]);
  });

  test('gives each database a log of its own', async () => {
    const urls = [await createEmptyDatabase(), await createEmptyDatabase()];
    for (const url of urls) await applyMigrations(url);
    const [one, other] = await Promise.all(urls.map(logIdOf));
    expect(one).toMatch(/^[0-9a-f]{32}$/);
    expect(other).not.toBe(one);
  });
});

test('a start on a database that is up to date applies nothing, and changes nothing', async () => {
  const url = await createDatabase();
  const before = await stateOf(url);
  expect(await applyMigrations(url)).toEqual([]);
  expect(await stateOf(url)).toEqual(before);
});

describe('a start on a database that lacks a migration', () => {
  test('applies that one alone', async () => {
    const url = await createDatabase();
    const root = withMigration('20270101000000_more', 'CREATE TABLE more (id INTEGER)');
    expect(await applyMigrations(url, root)).toEqual(['20270101000000_more']);
    expect(await tablesOf(url)).toContain('more');
  });

  test('whose script fails refuses in one line, and leaves the database as it was', async () => {
    const url = await createDatabase();
    const before = await stateOf(url);
    const reason = { sqlite: 'near "(": syntax error', postgresql: 'syntax error at or near "("' }[provider];
    const root = withMigration('20270101000000_bad', 'CREATE TABLE half (id INTEGER); CREATE TABLE (');
    await expect(applyMigrations(url, root)).rejects.toMatchObject({
      name: 'UnusableDatabase',
      reason: 'MIGRATION_FAILED',
      message: `The schema could not be brought up to date, and is as it was: ${reason}`,
    });
    expect(await stateOf(url)).toEqual(before);
    expect(await applyMigrations(url)).toEqual([]);
  });
});

describe('a start on a database of a newer version', () => {
  const NEWER = `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, started_at, applied_steps_count)
    VALUES ('1', '', current_timestamp, '29990101000000_newer', current_timestamp, 1)`;

  test('refuses with the name of what it does not know, and changes nothing', async () => {
    const url = await createDatabase();
    await runSql(url, NEWER);
    const before = await stateOf(url);
    await expect(applyMigrations(url)).rejects.toMatchObject({
      reason: 'NEWER',
      message: 'The database was changed by a newer version of Holdfast (29990101000000_newer): use that version',
    });
    expect(await stateOf(url)).toEqual(before);
  });

  test('goes on where the newer version rolled its change back', async () => {
    const url = await createDatabase();
    await runSql(url, NEWER);
    await runSql(url, `UPDATE _prisma_migrations SET rolled_back_at = current_timestamp WHERE id = '1'`);
    expect(await applyMigrations(url)).toEqual([]);
  });
});

describe('a start after migrations that were not finished', () => {
  const UNFINISHED = 'UPDATE _prisma_migrations SET finished_at = NULL, applied_steps_count = 0';

  async function expectRepaired(url: string): Promise<void> {
    const counts = await runSql(
      url,
      'SELECT count(finished_at) AS finished, count(rolled_back_at) AS undone FROM _prisma_migrations',
    );
    const all = BigInt(ALL_MIGRATIONS.length);
    expect(counts).toEqual([{ finished: all, undone: all }]);
    expect(await applyMigrations(url)).toEqual([]);
  }

  test('before their scripts repeats them', async () => {
    const url = await createDatabase();
    await runSql(url, UNFINISHED);
    // What depends on a table of PostgreSQL keeps it from being dropped.
    const cascade = provider === 'sqlite' ? '' : 'CASCADE';
    for (const table of ['distributed_locks', 'lock_events', 'lock_clock']) await runSql(url, `DROP TABLE ${table} ${cascade}`);
    expect(await applyMigrations(url)).toEqual(ALL_MIGRATIONS);
    expect(await clockOf(url)).toHaveLength(1);
    await expectRepaired(url);
  });

  test('after their scripts keeps what it finds', async () => {
    const url = await createDatabase();
    await runSql(url, UNFINISHED);
    await runSql(url, 'UPDATE lock_clock SET revision = 7');
    expect(await applyMigrations(url)).toEqual(ALL_MIGRATIONS);
    expect(await clockOf(url)).toMatchObject([{ revision: 7n }]);
    await expectRepaired(url);
  });
});

test('a start on the tables of something else refuses, and adds none', async () => {
  const url = await createEmptyDatabase();
  await runSql(url, 'CREATE TABLE customers (id INTEGER)');
  await expect(applyMigrations(url)).rejects.toMatchObject({ reason: 'FOREIGN' });
  expect(await tablesOf(url)).toEqual(['customers']);
});
