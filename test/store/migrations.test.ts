import { cpSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { MIGRATIONS_ROOT } from '../../src/store/migrations/migration-folders.js';
import { applyMigrations } from '../../src/store/migrations.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const INIT = '20261129160000_init';

interface Place {
  readonly path: string;
  readonly url: string;
}

function place(): Place {
  const path = join(temporaryDirectory(), 'holdfast.db');
  return { path, url: `file:${path}` };
}

async function migrated(): Promise<Place> {
  const database = place();
  await applyMigrations(database.url);
  return database;
}

/** Runs the statements on a connection of its own. */
function change(path: string, sql: string): void {
  const database = new Database(path);
  database.exec(sql);
  database.close();
}

function read(path: string, sql: string): unknown[] {
  const database = new Database(path, { fileMustExist: true });
  try {
    return database.prepare(sql).safeIntegers().all();
  } finally {
    database.close();
  }
}

const clockOf = (path: string) => read(path, 'SELECT id, revision, oldest_revision, at FROM lock_clock');
const logIdOf = (path: string) => read(path, 'SELECT log_id FROM lock_clock')[0] as { log_id: string };
const tablesOf = (path: string) =>
  read(path, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name`).map(
    (row) => (row as { name: string }).name,
  );

/** The migrations as they are, and one more of SQLite's. */
function withMigration(name: string, sql: string): string {
  const root = temporaryDirectory();
  cpSync(MIGRATIONS_ROOT, root, { recursive: true });
  const folder = join(root, 'sqlite/migrations', name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'migration.sql'), sql);
  return root;
}

describe('a start without a database', () => {
  test('creates the tables, and a log that begins at revision 0', async () => {
    const { path, url } = place();
    expect(await applyMigrations(url)).toEqual([INIT]);
    expect(tablesOf(path)).toEqual(['_prisma_migrations', 'distributed_locks', 'lock_clock', 'lock_events']);
    expect(clockOf(path)).toEqual([{ id: 1n, revision: 0n, oldest_revision: 0n, at: 0n }]);
  });

  test('gives each database a log of its own', async () => {
    const [one, other] = [await migrated(), await migrated()];
    expect(logIdOf(one.path).log_id).toMatch(/^[0-9a-f]{32}$/);
    expect(logIdOf(one.path)).not.toEqual(logIdOf(other.path));
  });

  test('leaves a database that writes ahead, in one file', async () => {
    const { path } = await migrated();
    expect(read(path, 'PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }]);
  });
});

describe('a start on a database that is up to date', () => {
  test('applies nothing, and changes no byte', async () => {
    const { path, url } = await migrated();
    const before = readFileSync(path);
    expect(await applyMigrations(url)).toEqual([]);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('does not wait for a writer that is in the middle of a transaction', async () => {
    const { path, url } = await migrated();
    const writer = new Database(path);
    writer.exec('BEGIN IMMEDIATE; UPDATE lock_clock SET at = 1');
    expect(await applyMigrations(url)).toEqual([]);
    writer.close();
  });
});

describe('a start on a database that lacks a migration', () => {
  test('applies that one alone, while another instance goes on reading', async () => {
    const { path, url } = await migrated();
    const reader = new Database(path);
    reader.exec('BEGIN; SELECT * FROM lock_clock');
    const root = withMigration('20270101000000_more', 'BEGIN;\nCREATE TABLE more (id INTEGER);\nCOMMIT;\n');
    expect(await applyMigrations(url, root)).toEqual(['20270101000000_more']);
    expect(reader.prepare('SELECT count(*) FROM lock_clock').pluck().get()).toBe(1);
    reader.close();
    expect(tablesOf(path)).toContain('more');
  });

  test('whose script fails refuses in one line, and leaves the database as it was', async () => {
    const { path, url } = await migrated();
    const before = readFileSync(path);
    const root = withMigration('20270101000000_bad', 'BEGIN;\nCREATE TABLE half (id INTEGER);\nCREATE TABLE (;\nCOMMIT;\n');
    await expect(applyMigrations(url, root)).rejects.toMatchObject({
      name: 'UnusableDatabase',
      reason: 'MIGRATION_FAILED',
      message: 'The schema could not be brought up to date, and is as it was: near "(": syntax error',
    });
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(await applyMigrations(url)).toEqual([]);
  });
});

describe('a start on a database of a newer version', () => {
  const NEWER = `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, started_at, applied_steps_count)
    VALUES ('1', '', current_timestamp, '29990101000000_newer', current_timestamp, 1)`;

  test('refuses with the name of what it does not know, and leaves the file as it is', async () => {
    const { path, url } = await migrated();
    change(path, NEWER);
    const before = readFileSync(path);
    await expect(applyMigrations(url)).rejects.toMatchObject({
      reason: 'NEWER',
      message: 'The database was changed by a newer version of Holdfast (29990101000000_newer): use that version',
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('goes on where the newer version rolled its change back', async () => {
    const { path, url } = await migrated();
    change(path, `${NEWER}; UPDATE _prisma_migrations SET rolled_back_at = current_timestamp WHERE id = '1'`);
    expect(await applyMigrations(url)).toEqual([]);
  });
});

describe('a start after a migration that was not finished', () => {
  const attempts = (path: string) =>
    read(path, 'SELECT finished_at IS NOT NULL AS finished, rolled_back_at IS NOT NULL AS rolled_back FROM _prisma_migrations');
  const repaired = [
    { finished: 0n, rolled_back: 1n },
    { finished: 1n, rolled_back: 0n },
  ];
  const UNFINISHED = 'UPDATE _prisma_migrations SET finished_at = NULL, applied_steps_count = 0';

  test('before its script repeats it', async () => {
    const { path, url } = await migrated();
    change(path, `${UNFINISHED}; DROP TABLE distributed_locks; DROP TABLE lock_events; DROP TABLE lock_clock`);
    expect(await applyMigrations(url)).toEqual([INIT]);
    expect(attempts(path)).toEqual(repaired);
    expect(clockOf(path)).toHaveLength(1);
  });

  test('after its script keeps what it finds', async () => {
    const { path, url } = await migrated();
    change(path, `${UNFINISHED}; UPDATE lock_clock SET revision = 7`);
    expect(await applyMigrations(url)).toEqual([INIT]);
    expect(attempts(path)).toEqual(repaired);
    expect(clockOf(path)).toMatchObject([{ revision: 7n }]);
    expect(await applyMigrations(url)).toEqual([]);
  });
});

describe('a start on what can be no database of ours', () => {
  test('refuses tables of something else, and adds none', async () => {
    const { path, url } = place();
    change(path, 'CREATE TABLE customers (id INTEGER)');
    await expect(applyMigrations(url)).rejects.toMatchObject({ reason: 'FOREIGN' });
    expect(tablesOf(path)).toEqual(['customers']);
  });

  test('refuses a file that is not SQLite’s', async () => {
    const { path, url } = place();
    writeFileSync(path, 'The quick brown fox jumps over the lazy dog. '.repeat(20));
    await expect(applyMigrations(url)).rejects.toMatchObject({
      reason: 'FOREIGN',
      message: `The file ${path} is not a SQLite database`,
    });
  });

  test('refuses a file that is damaged, in one line', async () => {
    const { path, url } = await migrated();
    truncateSync(path, 6000);
    await expect(applyMigrations(url)).rejects.toMatchObject({
      reason: 'INACCESSIBLE',
      message: "The database can't be used: database disk image is malformed",
    });
  });

  test('refuses a directory that does not exist, by its name', async () => {
    const directory = join(temporaryDirectory(), 'missing');
    await expect(applyMigrations(`file:${directory}/holdfast.db`)).rejects.toMatchObject({
      reason: 'INACCESSIBLE',
      message: `The database ${directory}/holdfast.db can't be opened: there is no directory ${directory}`,
    });
  });

  test('refuses a path that is a directory', async () => {
    await expect(applyMigrations(`file:${temporaryDirectory()}`)).rejects.toThrow('it is not a file');
  });

  test.each(['mysql://host/db', 'file:', 'file::memory:', 'file:a.db?mode=ro', 'file://elsewhere/a.db'])(
    'refuses the URL %s',
    async (url) => {
      await expect(applyMigrations(url)).rejects.toMatchObject({ name: 'UnusableDatabase', reason: 'INACCESSIBLE' });
    },
  );
});
