import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlDriverAdapter, Transaction } from '@prisma/driver-adapter-utils';
import { checkServer } from '../postgresql/check-server.js';
import { openPool } from '../postgresql/connections.js';
import { failedWith, readRecords, run, type EngineConnection, type MigrationConnection } from './connection.js';

/** The key of the advisory lock that Prisma's engine takes for migrations: so its CLI and this keep each other out. */
const MIGRATION_LOCK = 72707369;

const LOCK_NOT_AVAILABLE = '55P03';

/** A migration takes as long as it takes. */
const NO_TIMEOUT = 0;

/** How long a starting instance waits for another one's migrations. */
const LOCK_WAIT_MS = 60_000;

export async function openPostgresqlConnection(databaseUrl: string): Promise<MigrationConnection> {
  const pool = openPool(databaseUrl, 1, NO_TIMEOUT);
  // The adapter tells less than the driver of what went wrong.
  const adapter = await new PrismaPg(pool, { disposeExternalPool: true }).connect();
  try {
    await checkServer(pool, databaseUrl);
    return connectionInTransaction(adapter, await adapter.startTransaction());
  } catch (error) {
    await adapter.dispose();
    throw error;
  }
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
