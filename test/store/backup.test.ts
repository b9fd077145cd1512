import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test, vi } from 'vitest';
import { backUp } from '../../src/store/sqlite/backup.js';
import { clockOf, migratedDatabase, startWriter } from '../support/sqlite-files.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

describe('a backup', () => {
  test('of a database that is written to holds one moment of it', async () => {
    const path = await migratedDatabase();
    const writer = await startWriter(path);
    const backups = [1, 2, 3].map((number) => join(dirname(path), `backup-${number}.db`));
    for (const backup of backups) {
      backUp(path, backup);
      const { revision } = clockOf(path);
      await vi.waitFor(() => expect(clockOf(path).revision).toBeGreaterThan(revision), 10_000);
    }
    writer.kill('SIGKILL');
    await once(writer, 'exit');

    const moments = backups.map((backup) => {
      const database = new Database(backup);
      expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
      const events = database.prepare('SELECT count(*) FROM lock_events').pluck().get() as number;
      expect(database.prepare('SELECT revision FROM lock_clock').pluck().get()).toBe(events);
      database.close();
      return events;
    });
    expect(moments).toEqual([...moments].sort((one, other) => one - other));
    expect(new Set(moments).size).toBe(backups.length);
  });

  test('into a file that exists is refused, and leaves the file as it is', async () => {
    const path = await migratedDatabase();
    const file = join(dirname(path), 'mine.txt');
    writeFileSync(file, 'mine');
    expect(() => backUp(path, file)).toThrow(`The backup ${file} can't be written: it exists already, and is not overwritten`);
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  test('of what is no Holdfast database is refused, and leaves no file', () => {
    const path = join(temporaryDirectory(), 'other.db');
    new Database(path).exec('CREATE TABLE customers (id INTEGER)').close();
    expect(() => backUp(path, `${path}.backup`)).toThrow('is not a Holdfast database');
    expect(readdirSync(dirname(path))).toEqual(['other.db']);
  });

  test('into a directory that does not exist is refused', async () => {
    const path = await migratedDatabase();
    const file = join(dirname(path), 'nowhere', 'backup.db');
    expect(() => backUp(path, file)).toThrow(`The backup ${file} can't be written: ENOENT`);
  });

  test('of a database that does not exist is refused, and creates none', () => {
    const path = join(temporaryDirectory(), 'holdfast.db');
    expect(() => backUp(path, `${path}.backup`)).toThrow(`There is no database ${path}`);
    expect(readdirSync(dirname(path))).toEqual([]);
  });
});
