import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { checkSqliteFile } from '../database-url.js';
import { UnusableDatabase } from '../unusable-database.js';

/**
 * Writes a consistent copy of the database, as it is at one moment, while servers go on using it. The file appears only
 * when it is complete and durable.
 *
 * @returns how many bytes it has.
 * @throws UnusableDatabase where the file exists already, can't be written, or the database is not Holdfast's.
 */
export function backUp(databasePath: string, file: string): number {
  const target = resolve(file);
  checkSqliteFile(databasePath);
  if (!existsSync(databasePath)) throw new UnusableDatabase('INACCESSIBLE', `There is no database ${databasePath}`);
  reserve(target);
  const partial = `${target}.partial`;
  try {
    rmSync(partial, { force: true });
    copyDatabase(databasePath, partial);
    flush(partial);
    renameSync(partial, target);
    flush(dirname(target));
  } catch (error) {
    rmSync(partial, { force: true });
    rmSync(target, { force: true });
    throw error;
  }
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

/** Takes the name, so that two backups to one file can't both go on. */
function reserve(file: string): void {
  try {
    closeSync(openSync(file, 'wx'));
  } catch (error) {
    const exists = (error as { code?: string }).code === 'EEXIST';
    const why = exists ? 'it exists already, and is not overwritten' : (error as Error).message;
    throw new UnusableDatabase('INACCESSIBLE', `The backup ${file} can't be written: ${why}`, { cause: error });
  }
}
