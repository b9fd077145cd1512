import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { EventRow } from '../rows.js';
import { read } from './connections.js';
import { findStored, TOO_LATE_MS, type GroupToStore, type LockTaken } from './group-sql.js';

/** Within this an answer that was lost is found out. */
const FIND_OUT_MS = 2000;
const FIND_OUT_PAUSE_MS = 50;

/** Where a group is in the log: its first event, or where that would be. */
export type Place = Pick<EventRow, 'revision' | 'written_at'>;

/**
 * The answer to a group's commit was lost: what it would have been is in the log. False: it is not there, and never will be; null:
 * not found out.
 */
export async function findGroup(pool: pg.Pool, group: GroupToStore): Promise<Place | false | null> {
  const { events, joined } = group.decision;
  // Then nothing was to be stored that a caller could not ask for again.
  if (events.length + joined.length === 0) return false;
  // The log is brought to the time at which the group is too late: that is not to be one that is yet to come.
  await sleep(TOO_LATE_MS);
  const deadline = performance.now() + FIND_OUT_MS;
  for (let left = FIND_OUT_MS; left > 0; left = deadline - performance.now()) {
    const asking = ask(pool, group, left);
    const answer = await Promise.race([asking, sleep(left, 'no answer' as const, { ref: false })]);
    if (answer !== 'no answer') return answer;
    await sleep(FIND_OUT_PAUSE_MS);
  }
  return null;
}

/** Null: the log does not go back that far any more. */
async function ask(pool: pg.Pool, group: GroupToStore, withinMs: number): Promise<Place | false | null | 'no answer'> {
  let client: pg.PoolClient | null = null;
  try {
    client = await pool.connect();
    const results = await read(client, [findStored(group, Math.max(1, Math.floor(withinMs)))]);
    client.release();
    const [[taken], [found]] = results as [[LockTaken], Place[]];
    return found ?? (taken.oldest_revision <= group.revision ? false : null);
  } catch {
    client?.release(true);
    return 'no answer';
  }
}
