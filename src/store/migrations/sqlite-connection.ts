import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils';
import { checkSqliteFile } from '../database-url.js';
import { UnusableDatabase } from '../unusable-database.js';
import { failedWith, readRecords, run, type EngineConnection, type MigrationConnection } from './connection.js';

/** The engine's own way to keep others out. It would also keep out the instances that serve on this file right now. */
const ENGINE_LOCK = 'PRAGMA main.locking_mode=EXCLUSIVE';

/** What makes a script a transaction where nobody else does, each on a line of its own. */
const OWN_TRANSACTION = /^(BEGIN|COMMIT);$/gm;

/** Opens the file, and creates it if there is none. It never waits for other processes: they make it fail, as busy. */
export async function openSqliteConnection(path: string): Promise<MigrationConnection> {
  checkSqliteFile(path);
  const adapter = await connect(path);
  return {
    engineConnection: engineConnection(adapter),
    records: () => records(adapter, path),
    begin: () => begin(adapter, path),
    commit: () => adapter.executeScript('COMMIT'),
    close: () => adapter.dispose(),
    isBusy: (error) => failedWith(error, 'SQLITE_BUSY'),
  };
}

async function connect(path: string): Promise<SqlDriverAdapter> {
  try {
    return await new PrismaBetterSqlite3({ url: path, timeout: 0 }).connect();
  } catch (error) {
    // Not an error of the adapter yet: it wraps those of statements alone.
    if (!(error instanceof Error && 'code' in error && error.code === 'SQLITE_CANTOPEN')) throw error;
    throw new UnusableDatabase('INACCESSIBLE', `The database ${path} can't be opened: ${error.message}`, { cause: error });
  }
}

async function records(adapter: SqlDriverAdapter, path: string) {
  try {
    const tables = await run(adapter, `SELECT name FROM sqlite_master WHERE type = 'table' AND name = '_prisma_migrations'`);
    return tables.length === 0 ? [] : await readRecords(adapter);
  } catch (error) {
    if (!failedWith(error, 'SQLITE_NOTADB')) throw error;
    throw new UnusableDatabase('FOREIGN', `The file ${path} is not a SQLite database`, { cause: error });
  }
}

async function begin(adapter: SqlDriverAdapter, path: string): Promise<void> {
  // The mode can't be changed inside a transaction, and stays with the file.
  const [row] = await run(adapter, 'PRAGMA journal_mode = WAL');
  if (row?.[0] !== 'wal') {
    throw new UnusableDatabase(
      'INACCESSIBLE',
      `The database ${path} can't have a write-ahead log: its file system has no shared memory`,
    );
  }
  await adapter.executeScript('BEGIN IMMEDIATE');
}

function engineConnection(adapter: SqlDriverAdapter): EngineConnection {
  return {
    provider: adapter.provider,
    adapterName: adapter.adapterName,
    queryRaw: (query) => adapter.queryRaw(query),
    executeRaw: (query) => (query.sql === ENGINE_LOCK ? Promise.resolve(0) : adapter.executeRaw(query)),
    executeScript: (script) => adapter.executeScript(script.replace(OWN_TRANSACTION, '')),
  };
}
