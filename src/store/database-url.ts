import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { placeOfPostgresql } from './postgresql-url.js';
import { UnusableDatabase } from './unusable-database.js';

export type DatabaseProvider = 'sqlite' | 'postgresql';

/** @throws UnusableDatabase where the URL is of neither kind. */
export function providerOf(databaseUrl: string): DatabaseProvider {
  if (databaseUrl.startsWith('file:')) return 'sqlite';
  if (/^postgres(ql)?:\/\//.test(databaseUrl)) return 'postgresql';
  throw new UnusableDatabase('INACCESSIBLE', 'DATABASE_URL must begin with file: for SQLite, or with postgresql:// for PostgreSQL');
}

/**
 * The absolute path that a `file:` URL names; a relative one starts at the working directory of the process.
 *
 * @throws UnusableDatabase where it names no file: a database in memory could not outlive the process.
 */
export function sqlitePath(databaseUrl: string): string {
  const name = databaseUrl.slice('file:'.length);
  if (!databaseUrl.startsWith('file:') || name === '' || name === ':memory:' || name.includes('?')) {
    throw new UnusableDatabase('INACCESSIBLE', `DATABASE_URL ${databaseUrl} must be file: and a path, without parameters`);
  }
  if (!name.startsWith('//')) return resolve(name);
  try {
    return fileURLToPath(databaseUrl);
  } catch (error) {
    throw new UnusableDatabase('INACCESSIBLE', `DATABASE_URL ${databaseUrl} names no file on this machine`, { cause: error });
  }
}

/** What tells one database from another, without credentials: the path of a file, or host, port and name. */
export function databaseName(databaseUrl: string): string {
  return providerOf(databaseUrl) === 'sqlite' ? sqlitePath(databaseUrl) : placeOfPostgresql(databaseUrl);
}

/**
 * Says in words what SQLite only calls "unable to open database file".
 *
 * @throws UnusableDatabase where the file can be neither opened for reading and writing, nor created.
 */
export function checkSqliteFile(path: string): void {
  const directory = dirname(path);
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new UnusableDatabase('INACCESSIBLE', `The database ${path} can't be opened: there is no directory ${directory}`);
  }
  // SQLite keeps its write-ahead log beside the file, so it writes into the directory as well.
  checkAccess(directory, `The database ${path} can't be opened: the directory ${directory} is not writable`);
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) return;
  if (!file.isFile()) throw new UnusableDatabase('INACCESSIBLE', `The database ${path} can't be opened: it is not a file`);
  checkAccess(path, `The database ${path} can't be opened: this process may not read and write it`);
}

function checkAccess(path: string, complaint: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw new UnusableDatabase('INACCESSIBLE', complaint, { cause: error });
  }
}
