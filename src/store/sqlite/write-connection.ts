import Database from 'better-sqlite3';

import { StoreUnavailable } from '../lock-store.js';
import { isCleanCommitFailure, isOutage } from './faults.js';
import { WriteStatements } from './write-statements.js';

/** How long BEGIN waits for another process that writes to the same file. */
const BUSY_TIMEOUT_MS = 5000;
/**
 * The write-ahead log may grow as long as the database, within these bounds, before it is copied into it: with many locks,
 * each change touches pages all over the database, and the longer the log the more of them are copied only once.
 */
const MIN_WAL_PAGES = 4_000;
const MAX_WAL_PAGES = 64_000;
const PAGE_BYTES = 4096;
/** The number by which SQLite tells `synchronous = FULL`. */
const SYNCHRONOUS_FULL = 2n;
const CACHE_KIB = 32 * 1024;

/**
 * The connection that writes. A transaction that fails is rolled back; where even that fails, the connection is replaced:
 * the next transaction never finds itself inside an old one.
 */
export class WriteConnection {
  readonly #file: string;
  /** null: not opened yet, or the last one was given up. */
  #connection: Connection | null = null;

  constructor(file: string) {
    this.#file = file;
  }

  /** @throws StoreUnavailable where the file can't be opened, or not in WAL mode. */
  open(): Connection {
    return (this.#connection ??= connect(this.#file));
  }

  /**
   * Runs the work between BEGIN IMMEDIATE and COMMIT; what it returns is the answer once it is stored.
   *
   * @param keeps false for a result that is not to be stored: everything is rolled back.
   * @throws StoreUnavailable where the database failed; whatever the work throws, after a rollback.
   */
  transaction<T>(work: (statements: WriteStatements) => T, keeps: (result: T) => boolean): T {
    const { statements } = this.open();
    let step: 'begin' | 'work' | 'commit' = 'begin';
    try {
      statements.begin.run();
      step = 'work';
      const result = work(statements);
      step = 'commit';
      (keeps(result) ? statements.commit : statements.rollback).run();
      return result;
    } catch (error) {
      this.#recover(error);
      if (step === 'commit' && !isCleanCommitFailure(error)) {
        throw new StoreUnavailable('The database failed to commit', null, { cause: error });
      }
      if (isOutage(error)) throw new StoreUnavailable(`The database failed to ${step}`, false, { cause: error });
      throw error;
    }
  }

  /** To be called now and then: the database grows. */
  fitWal(): void {
    fitWal(this.open());
  }

  close(): void {
    const connection = this.#connection;
    this.#connection = null;
    connection?.db.close();
  }

  #recover(error: unknown): void {
    const db = this.#connection?.db;
    try {
      if (db?.inTransaction === true) db.exec('ROLLBACK');
      if (!isOutage(error) || isCleanCommitFailure(error)) return;
    } catch {
      // What is left of the transaction goes with the connection.
    }
    this.close();
  }
}

interface Connection {
  readonly db: Database.Database;
  readonly statements: WriteStatements;
}

function connect(file: string): Connection {
  let db: Database.Database | null = null;
  try {
    db = new Database(file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    db.defaultSafeIntegers(true);
    makeDurable(db);
    db.pragma(`cache_size = -${CACHE_KIB}`);
    const connection = { db, statements: new WriteStatements(db) };
    fitWal(connection);
    return connection;
  } catch (error) {
    db?.close();
    throw new StoreUnavailable(`The database file ${file} could not be opened for writing`, false, { cause: error });
  }
}

function makeDurable(db: Database.Database): void {
  // Another mode can answer BUSY at COMMIT, after everything seemed well.
  if (db.pragma('journal_mode = WAL', { simple: true }) !== 'wal') throw new Error('The database can not be put into WAL mode');
  // Each COMMIT waits until the disk has it.
  db.pragma('synchronous = FULL');
  if (db.pragma('synchronous', { simple: true }) !== SYNCHRONOUS_FULL)
    throw new Error('The database can not be made to wait for the disk');
  // Where a slow reader made the write-ahead log grow beyond its bounds, the file is cut back.
  db.pragma(`journal_size_limit = ${MAX_WAL_PAGES * PAGE_BYTES}`);
}

function fitWal({ db }: Connection): void {
  const pages = Number(db.pragma('page_count', { simple: true }));
  db.pragma(`wal_autocheckpoint = ${Math.min(Math.max(pages, MIN_WAL_PAGES), MAX_WAL_PAGES)}`);
}
