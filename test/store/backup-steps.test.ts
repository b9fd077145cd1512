import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { backUp } from '../../src/store/sqlite/backup.js';
import { migratedDatabase } from '../support/sqlite-files.js';

/** Does this instead of the backup's fsync number `step`: 1 is that of the copy, 2 that of the directory that has its name. */
function insteadOfFsync(step: number, action: () => void): void {
  const { fsyncSync } = fs;
  let calls = 0;
  const spy = vi.spyOn(fs, 'fsyncSync').mockImplementation((descriptor) => {
    if (++calls === step) action();
    else fsyncSync(descriptor);
  });
  // Whoever imported the function by its name gets this one, too.
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
}

const fail = (message: string) => () => {
  throw new Error(message);
};

async function databaseAndTarget() {
  const path = await migratedDatabase();
  return { path, backup: join(dirname(path), 'backup.db'), files: () => fs.readdirSync(dirname(path)).sort() };
}

const isSound = (path: string) => {
  const database = new Database(path, { fileMustExist: true });
  try {
    return database.pragma('integrity_check', { simple: true }) === 'ok';
  } finally {
    database.close();
  }
};

test('a backup has no file under its name until the copy is complete', async () => {
  const { path, backup, files } = await databaseAndTarget();
  let before: readonly string[] = [];
  insteadOfFsync(1, () => (before = files()));
  backUp(path, backup);
  expect(before).toEqual([expect.stringMatching(/^backup\.db\.partial-/), 'holdfast.db']);
  expect(files()).toEqual(['backup.db', 'holdfast.db']);
  expect(isSound(backup)).toBe(true);
});

test('a backup whose copy can’t be made durable leaves no file', async () => {
  const { path, backup, files } = await databaseAndTarget();
  insteadOfFsync(1, fail('EIO'));
  expect(() => backUp(path, backup)).toThrow('EIO');
  expect(files()).toEqual(['holdfast.db']);
});

test('a backup whose directory can’t be flushed says so, and stays', async () => {
  const { path, backup, files } = await databaseAndTarget();
  insteadOfFsync(2, fail('EIO'));
  expect(() => backUp(path, backup)).toThrow('EIO');
  expect(files()).toEqual(['backup.db', 'holdfast.db']);
  expect(isSound(backup)).toBe(true);
});

test('a backup is not held up by what a killed one left', async () => {
  const { path, backup, files } = await databaseAndTarget();
  // As the directory is in the middle of a run.
  insteadOfFsync(1, () => files().forEach((name) => fs.cpSync(join(dirname(path), name), join(dirname(path), 'killed', name))));
  backUp(path, backup);
  const killed = join(dirname(path), 'killed');
  backUp(join(killed, 'holdfast.db'), join(killed, 'backup.db'));
  expect(isSound(join(killed, 'backup.db'))).toBe(true);
});

test('a file that took the name while the copy was made is not overwritten', async () => {
  const { path, backup, files } = await databaseAndTarget();
  insteadOfFsync(1, () => fs.writeFileSync(backup, 'mine'));
  expect(() => backUp(path, backup)).toThrow(`The backup ${backup} can't be written: it exists already, and is not overwritten`);
  expect(fs.readFileSync(backup, 'utf8')).toBe('mine');
  expect(files()).toEqual(['backup.db', 'holdfast.db']);
});
