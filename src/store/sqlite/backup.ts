import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { checkSqliteFile } from '../database-url.js';
import { UnusableDatabase } from '../unusable-database.js';

/**
 * Writes a consistent copy of the database, as it is at one moment, while servers go on using it. The file appears only
 * when it is complete and durable: whoever copies backups away can take whatever bears the name.
 *
 * @returns how many bytes it has.
 * @throws UnusableDatabase where the file exists already, can't be written, or the database is not Holdfast's.
 */
export function backUp(databasePath: string, file: string): number {
  const target = resolve(file);
  checkSqliteFile(databasePath);
  if (!existsSync(databasePath)) throw new UnusableDatabase('INACCESSIBLE', `There is no database ${databasePath}`);
  // Asked again when it counts; this spares the work for an answer that is known at once.
  if (existsSync(target)) throw unwritable(target, ALREADY_EXISTS);
  // A name of its own: in a container a process id is no such thing, and what a killed run left may bear it.
  const partial = `${target}.partial-${randomBytes(4).toString('hex')}`;
  try {
    create(partial, target);
    copyDatabase(databasePath, partial);
    flush(partial);
    giveName(partial, target);
  } finally {
    rmSync(partial, { force: true });
  }
  // The backup is whole already: where this fails it stays, and only whether its name survives a loss of power is open.
  flush(dirname(target));
  return statSync(target).size;
}

/**
 * Copies what is committed into a new file. It reads in one transaction, so writers go on; they only can't shorten their
 * write-ahead log meanwhile.
 */
export function copyDatabase(from: string, to: string): void {
  const database = openHoldfast(from);
  try {
    database.prepare('VACUUM INTO ?').run(to);
  } finally {
    database.close();
  }
}

/**
 * Opens it to read. (A connection that may only read would leave the write-ahead log's files behind, as its own user.)
 *
 * @throws UnusableDatabase where the file is not a Holdfast database.
 */
export function openHoldfast(path: string): Database.Database {
  const database = new Database(path, { fileMustExist: true });
  try {
    if (isHoldfast(database)) return database;
    throw new UnusableDatabase('FOREIGN', `The file ${path} is not a Holdfast database`);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Whether this is a Holdfast database of any version. */
function isHoldfast(database: Database.Database): boolean {
  try {
    const tables = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('_prisma_migrations', 'lock_clock')`;
    return database.prepare(tables).pluck().get() === 2;
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_NOTADB') return false;
    throw error;
  }
}

/** Makes what was written to a file, or the names in a directory, survive a loss of power. */
export function flush(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const ALREADY_EXISTS = 'it exists already, and is not overwritten';

/** Shows at once, and in the words of the operating system, whether there is a place for the backup. */
function create(partial: string, target: string): void {
  try {
    closeSync(openSync(partial, 'wx'));
  } catch (error) {
    throw unwritable(target, (error as Error).message, error);
  }
}

/** In one step that, unlike a rename, is refused where the name is taken: two backups to one file can't both succeed. */
function giveName(partial: string, target: string): void {
  try {
    linkSync(partial, target);
  } catch (error) {
    const exists = (error as { code?: string }).code === 'EEXIST';
    throw unwritable(target, exists ? ALREADY_EXISTS : (error as Error).message, error);
  }
}

function unwritable(target: string, why: string, cause?: unknown): UnusableDatabase {
  return new UnusableDatabase('INACCESSIBLE', `The backup ${target} can't be written: ${why}`, { cause });
}
