import type pg from 'pg';
import type { RetentionPolicy } from '../lock-store.js';
import { PASSED_OVER_MS, prunableUpTo } from '../retention.js';
import { namedFault } from './faults.js';
import { takeLock } from './group-sql.js';
import { isPassedOver, type Reader } from './reader.js';

/** Rows of each table that one step removes at the most: it must not hold up the groups behind it. */
const STEP_ROWS = 1000;

/**
 * One step of pruning; true: there may be more to remove. Every change is one message, so that no instance that freezes can
 * hold a lock meanwhile; where nothing is to be removed, nothing is locked.
 */
export async function pruneStep(pool: pg.Pool, reader: Reader, retryWindowMs: number, policy: RetentionPolicy): Promise<boolean> {
  const now = await reader.now();
  const upTo = await prunableRevision(reader, retryWindowMs, policy, now);
  const removedEvents = upTo === null ? 0 : await change(pool, deleteEvents(upTo));
  const expiredUntil = now - policy.expiredLockAgeMs;
  const removedLocks = (await reader.hasExpiredUntil(expiredUntil)) ? await change(pool, deleteExpiredLocks(expiredUntil)) : 0;
  const passedOverSince = now - PASSED_OVER_MS;
  const removedWaiters = (await reader.hasPassedOver(passedOverSince)) ? await change(pool, deleteWaiters(passedOverSince)) : 0;
  return [removedEvents, removedLocks, removedWaiters].includes(STEP_ROWS);
}

async function prunableRevision(
  reader: Reader,
  retryWindowMs: number,
  policy: RetentionPolicy,
  now: number,
): Promise<bigint | null> {
  const { revision, oldestRevision } = await reader.head();
  const events = await reader.oldestEvents(STEP_ROWS);
  // Above the oldest revision there is no gap. What a restore left below it is no part of this history: it goes first.
  const excess = Number(revision - oldestRevision) - policy.eventRows;
  return prunableUpTo({ events, oldestRevision, excess }, policy.eventAgeMs, retryWindowMs, now);
}

/** The groups wait for the last part alone: nobody else needs the events. */
function deleteEvents(upTo: bigint): string {
  return `/* prune events */
    BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
    DELETE FROM lock_events WHERE revision <= ${upTo};
    DELETE FROM lock_grants WHERE revision <= ${upTo};
    UPDATE lock_clock SET oldest_revision = greatest(oldest_revision, ${upTo}) WHERE id = 1;
    COMMIT;`;
}

/** A group may be about to claim them: they are looked at behind its lock. */
function deleteExpiredLocks(expiredUntil: number): string {
  return `/* prune expired locks */
    ${takeLock()}
    DELETE FROM distributed_locks WHERE id IN
      (SELECT id FROM distributed_locks WHERE expiry_recorded = true AND expires_at <= ${expiredUntil}
        ORDER BY expires_at LIMIT ${STEP_ROWS});
    COMMIT;`;
}

/** Those whose time has passed by then, and the instances that gave no sign of life since. The lock comes first: groups count them. */
function deleteWaiters(since: number): string {
  return `/* prune waiters */
    ${takeLock()}
    DELETE FROM lock_waiters WHERE (resource, ticket) IN
      (SELECT resource, ticket FROM lock_waiters WHERE ${isPassedOver(`${since}`)} LIMIT ${STEP_ROWS});
    DELETE FROM lock_instances WHERE alive_until <= ${since};
    UPDATE lock_tickets SET waiting = (SELECT count(*) FROM lock_waiters) WHERE id = 1;
    COMMIT;`;
}

/** Returns how many rows its DELETE removed. */
async function change(pool: pg.Pool, sql: string): Promise<number> {
  try {
    const results = (await pool.query(sql)) as unknown as pg.QueryResult[];
    return results.find(({ command }) => command === 'DELETE')?.rowCount ?? 0;
  } catch (error) {
    throw namedFault(error, 'The database could not be pruned', null);
  }
}
