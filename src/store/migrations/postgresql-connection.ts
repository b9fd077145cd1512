import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlDriverAdapter, Transaction } from '@prisma/driver-adapter-utils';
import { connectionConfig, setUpSession } from '../postgresql/connections.js';
import { UnusableDatabase } from '../unusable-database.js';
import { driverMessage, failedWith, readRecords, run, type EngineConnection, type MigrationConnection } from './connection.js';

/** The key of the advisory lock that Prisma's engine takes for migrations: so its CLI and this keep each other out. */
const MIGRATION_LOCK = 72707369;

const LOCK_NOT_AVAILABLE = '55P03';

/** How long a starting instance waits for another one's migrations. */
const LOCK_WAIT_MS = 60_000;

/** The oldest one with all the functions that the migrations and the store use (gen_random_uuid, pg_current_xact_id). */
const OLDEST_VERSION = 13;

export async function openPostgresqlConnection(databaseUrl: string): Promise<MigrationConnection> {
  const adapter = await new PrismaPg({ ...connectionConfig(databaseUrl), max: 1, onConnect: setUpSession }).connect();
  try {
    await checkServer(adapter);
    return connectionInTransaction(adapter, await adapter.startTransaction());
  } catch (error) {
    await adapter.dispose();
    if (error instanceof UnusableDatabase) throw error;
    throw new UnusableDatabase('INACCESSIBLE', `The database at ${hostOf(databaseUrl)} can't be opened: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/** @throws UnusableDatabase where it could not hold every name, or lacks what this program needs. */
async function checkServer(adapter: SqlDriverAdapter): Promise<void> {
  const sql = `SELECT current_setting('server_version_num')::int, current_setting('server_encoding')`;
  const [[version, encoding] = []] = await run(adapter, sql);
  const major = Math.floor(Number(version) / 10_000);
  if (major < OLDEST_VERSION) {
    throw new UnusableDatabase('INACCESSIBLE', `The database is PostgreSQL ${major}: it must be ${OLDEST_VERSION} or later`);
  }
  if (encoding !== 'UTF8') {
    throw new UnusableDatabase('INACCESSIBLE', `The database has the encoding ${String(encoding)}: it must be UTF8`);
  }
}

function hostOf(databaseUrl: string): string {
  return URL.canParse(databaseUrl) ? new URL(databaseUrl).host : 'DATABASE_URL';
}

/** Some errors have no text but their kind. */
function reasonOf(error: unknown): string {
  const message = driverMessage(error);
  return message === 'DatabaseNotReachable' ? 'nothing answers there' : message;
}

/** A transaction pins the pool to one connection: after a break nothing can go on outside of it, without the lock. */
function connectionInTransaction(adapter: SqlDriverAdapter, transaction: Transaction): MigrationConnection {
  return {
    engineConnection: engineConnection(transaction),
    records: () => records(transaction),
    begin: () => lock(transaction),
    commit: async () => {
      await run(transaction, 'COMMIT');
    },
    close: async () => {
      // Where it fails the connection is broken, and nothing is left to undo.
      await run(transaction, 'ROLLBACK').catch(() => undefined);
      await transaction.rollback();
      await adapter.dispose();
    },
    isBusy: (error) => failedWith(error, LOCK_NOT_AVAILABLE),
  };
}

async function records(transaction: Transaction) {
  const [row] = await run(transaction, `SELECT CASE WHEN to_regclass('_prisma_migrations') IS NULL THEN 0 ELSE 1 END`);
  return row?.[0] === 1 ? readRecords(transaction) : [];
}

async function lock(transaction: Transaction): Promise<void> {
  await run(transaction, `SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
  await transaction.executeRaw({ sql: `SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`, args: [], argTypes: [] });
}

function engineConnection(transaction: Transaction): EngineConnection {
  return {
    provider: transaction.provider,
    adapterName: transaction.adapterName,
    queryRaw: (query) => transaction.queryRaw(query),
    executeRaw: (query) => transaction.executeRaw(query),
    // As one message: the adapter's own way to run a script cuts it at every semicolon, also inside a function's body.
    executeScript: async (script) => {
      await transaction.executeRaw({ sql: script, args: [], argTypes: [] });
    },
  };
}
