import { expect } from 'vitest';
import { APPLICATION_NAME } from '../../../src/store/postgresql/connections.js';
import { runSql } from '../../support/sql.js';

const OURS = `application_name = '${APPLICATION_NAME}' AND datname = current_database()`;

/** Between the two messages of a group: it holds the lock, and the database waits for the instance. */
export const HOLDS_THE_LOCK = "state = 'idle in transaction'";
export const WAITS_FOR_THE_LOCK = "wait_event_type = 'Lock'";
export const IS_IDLE = "state = 'idle'";
/** What it asks from time to time shows it whether it is still connected. */
export const LISTENS = "query IN ('LISTEN holdfast_log', 'SELECT 1')";

/** The processes of the database that serve sessions of the service in that state. */
export async function pidsOf(databaseUrl: string, condition = 'true'): Promise<bigint[]> {
  const rows = await runSql(databaseUrl, `SELECT pid FROM pg_stat_activity WHERE ${OURS} AND ${condition}`);
  return rows.map(({ pid }) => pid as bigint);
}

/** Waits until so many sessions of the service, at least, are in that state. */
export async function untilThereIs(databaseUrl: string, condition: string, count = 1): Promise<void> {
  await expect
    .poll(async () => (await pidsOf(databaseUrl, condition)).length, {
      interval: 10,
      timeout: 3_000,
      message: `sessions with ${condition}`,
    })
    .toBeGreaterThanOrEqual(count);
}

/** Ends sessions of the service as an administrator does. */
export async function terminate(databaseUrl: string, condition = 'true'): Promise<void> {
  await runSql(databaseUrl, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${OURS} AND ${condition}`);
}

/** Cancels what sessions of the service are doing, as an administrator does. */
export async function cancel(databaseUrl: string, condition: string): Promise<void> {
  await runSql(databaseUrl, `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE ${OURS} AND ${condition}`);
}
