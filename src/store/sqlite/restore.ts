import { closeSync, existsSync, linkSync, openSync, readSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { checkSqliteFile } from '../database-url.js';
import { applyMigrations } from '../migrations.js';
import { REVISION_JUMP, type NewHistory } from '../new-history.js';
import { UnusableDatabase } from '../unusable-database.js';
import { copyDatabase, flush, openHoldfast } from './backup.js';
import { FORGET_WAITERS } from './dead-instances.js';

const SQLITE_HEADER = 'SQLite format 3\0';

/** What SQLite keeps beside a database that is open, or was not closed. */
const SIDE_FILES = ['-wal', '-shm'];

export interface Restored extends NewHistory {
  /** The files of the replaced database under their new names. */
  readonly keptAside: readonly string[];
}

interface Clock {
  readonly revision: bigint;
  readonly at: bigint;
}

/**
 * Puts a backup in the database's place. The backup is copied, checked, brought to this program's schema and given its
 * new history in a file beside the database, which then takes the place in one step: a crash at any point leaves either
 * the old database or the new one, whole.
 *
 * A server that uses the database holds SQLite's shared lock on the file for as long as it runs, and loses it however it
 * ends. The exclusive lock, which is taken here before anything is replaced, is granted only when nobody holds that.
 *
 * @param now the wall clock, in epoch milliseconds; names the files that are kept aside.
 * @throws UnusableDatabase where a server uses the database, or the backup is damaged, newer than this program, or not
 * Holdfast's. The database holds the same then, under its name; one that nobody uses may have been made one file, without
 * a write-ahead log, which whoever opens it next begins anew.
 */
export async function restore(file: string, databasePath: string, now: number = Date.now()): Promise<Restored> {
  checkSqliteFile(databasePath);
  checkBackup(resolve(file), databasePath);
  // Taken again when it counts; this spares the work for an answer that is known at once.
  lockOut(databasePath)?.database.close();
  const prepared = `${databasePath}.restoring-${process.pid}`;
  try {
    copyDatabase(resolve(file), prepared);
    await applyMigrations(`file:${prepared}`);
    return replace(databasePath, prepared, `${databasePath}.replaced-${now}`);
  } finally {
    for (const suffix of ['', '-journal', ...SIDE_FILES]) rmSync(prepared + suffix, { force: true });
  }
}

function checkBackup(file: string, databasePath: string): void {
  if (!existsSync(file)) throw new UnusableDatabase('INACCESSIBLE', `There is no backup ${file}`);
  if (existsSync(databasePath) && realpathSync(file) === realpathSync(databasePath)) {
    throw new UnusableDatabase('INACCESSIBLE', `The file ${file} is the database itself, not a backup of it`);
  }
  if (!isSound(file)) throw new UnusableDatabase('INACCESSIBLE', `The backup ${file} is damaged`);
}

function isSound(file: string): boolean {
  let backup: Database.Database | undefined;
  try {
    backup = openHoldfast(file);
    return backup.pragma('integrity_check', { simple: true }) === 'ok' && readClock(backup) !== null;
  } catch (error) {
    if (isUnreadable(error)) return false;
    throw error;
  } finally {
    backup?.close();
  }
}

function isUnreadable(error: unknown): boolean {
  return /^SQLITE_(NOTADB|CORRUPT)/.test((error as { code?: string }).code ?? '');
}

function replace(databasePath: string, prepared: string, aside: string): Restored {
  const replaced = lockOut(databasePath);
  try {
    const { logId, revision } = beginNewHistory(prepared, replaced?.clock ?? null);
    flush(prepared);
    const keptAside = keepAside(databasePath, aside);
    renameSync(prepared, databasePath);
    flush(dirname(databasePath));
    return { logId, revision, keptAside };
  } finally {
    replaced?.database.close();
  }
}

/**
 * Keeps everybody else out of the database that is replaced, and leaves it as one file: a write-ahead log that stayed
 * behind would be taken for the new database's. Null where there is no database that can be read; then nobody uses it.
 */
function lockOut(path: string): { database: Database.Database; clock: Clock | null } | null {
  // SQLite would throw away the write-ahead log of a file that it doesn't know as its own.
  if (!existsSync(path) || !isSqlite(path)) return null;
  const database = new Database(path, { timeout: 0 });
  try {
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('journal_mode = DELETE');
    database.exec('BEGIN EXCLUSIVE');
    return { database, clock: readClock(database) };
  } catch (error) {
    database.close();
    if (isUnreadable(error)) return null;
    if ((error as { code?: string }).code?.startsWith('SQLITE_BUSY') !== true) throw error;
    throw new UnusableDatabase('IN_USE', `A server uses the database ${path}: stop it first`, { cause: error });
  }
}

/** Whether it begins as SQLite's files do; an empty file is a database, too. */
function isSqlite(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(SQLITE_HEADER.length);
    const length = readSync(file, header);
    return length === 0 || header.toString('latin1') === SQLITE_HEADER;
  } finally {
    closeSync(file);
  }
}

/** Null where the file is readable, but is no Holdfast database. */
function readClock(database: Database.Database): Clock | null {
  const table = database.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'lock_clock'`).get();
  if (table === undefined) return null;
  return (database.prepare('SELECT revision, at FROM lock_clock').safeIntegers().get() as Clock | undefined) ?? null;
}

/** Tokens and time go on above both databases; what lies before can't be watched any more. */
function beginNewHistory(prepared: string, replaced: Clock | null): NewHistory {
  const database = new Database(prepared);
  try {
    const restored = readClock(database);
    const revision = larger(restored?.revision, replaced?.revision) + REVISION_JUMP;
    // Nobody waits any more on servers that are stopped.
    database.exec(FORGET_WAITERS);
    return database
      .prepare(
        `UPDATE lock_clock SET log_id = lower(hex(randomblob(16))), revision = :revision, oldest_revision = :revision, at = :at
         WHERE id = 1
         RETURNING log_id AS logId, revision`,
      )
      .safeIntegers()
      .get({ revision, at: larger(restored?.at, replaced?.at) }) as NewHistory;
  } finally {
    database.close();
  }
}

function larger(one = 0n, other = 0n): bigint {
  return one > other ? one : other;
}

/** Gives the old files a second name each; the database keeps its own until the new one takes it. */
function keepAside(databasePath: string, aside: string): string[] {
  const kept: string[] = [];
  // Without a log there is nothing that it is an index into.
  if (!existsSync(`${databasePath}-wal`)) rmSync(`${databasePath}-shm`, { force: true });
  for (const suffix of SIDE_FILES) {
    if (!existsSync(databasePath + suffix)) continue;
    renameSync(databasePath + suffix, aside + suffix);
    kept.push(aside + suffix);
  }
  if (existsSync(databasePath)) {
    linkSync(databasePath, aside);
    kept.unshift(aside);
  }
  return kept;
}
