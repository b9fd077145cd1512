import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { applyMigrations } from '../../../src/store/migrations.js';
import { withMigration } from '../../support/migrations.js';
import { runSql } from '../../support/sql.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

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

test('a start without a database leaves one that writes ahead, in one file', async () => {
  const { url } = await migrated();
  expect(await runSql(url, 'PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }]);
});

describe('a start on a database that is up to date', () => {
  test('changes no byte of it', async () => {
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
  test('applies it while another instance goes on reading', async () => {
    const { path, url } = await migrated();
    const reader = new Database(path);
    reader.exec('BEGIN; SELECT * FROM lock_clock');
    expect(await applyMigrations(url, withMigration('20270101000000_more', 'CREATE TABLE more (id INTEGER)'))).toHaveLength(1);
    expect(reader.prepare('SELECT count(*) FROM lock_clock').pluck().get()).toBe(1);
    reader.close();
  });

  test('whose script fails changes no byte of it', async () => {
    const { path, url } = await migrated();
    const before = readFileSync(path);
    await expect(
      applyMigrations(url, withMigration('20270101000000_bad', 'CREATE TABLE half (id INTEGER); CREATE TABLE (')),
    ).rejects.toThrow();
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

describe('a start on what can be no database of ours', () => {
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
