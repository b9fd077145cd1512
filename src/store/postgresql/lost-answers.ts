import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Waiter } from '../../locks/waiter.js';
import type { EventRow } from '../rows.js';
import { read } from './connections.js';
import { takeLock, TOO_LATE_MS, type LockTaken } from './group-sql.js';
import type { GroupToStore } from './group-to-store.js';
import { column, textArray } from './literals.js';

/** Within this an answer that was lost is found out. */
const FIND_OUT_MS = 2000;
const FIND_OUT_PAUSE_MS = 50;

/** Where a group is in the log: its first event, or where that would be. */
interface StoredRow extends Pick<EventRow, 'revision' | 'written_at'> {
  /** Of one of those who joined in it and still stand in line; null: none does. */
  readonly waiter_id: string | null;
  readonly ticket: bigint | null;
}

/** Behind what a group was stored, and when. */
export interface StoredAt {
  readonly revision: bigint;
  readonly ticket: bigint;
  readonly writtenAt: number;
}

/**
 * The answer to a group's commit was lost: what it would have been is in the log. False: it is not there, and never will be; null:
 * not found out.
 */
export async function findGroup(pool: pg.Pool, group: GroupToStore): Promise<StoredAt | false | null> {
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
async function ask(pool: pg.Pool, group: GroupToStore, withinMs: number): Promise<StoredAt | false | null | 'no answer'> {
  let client: pg.PoolClient | null = null;
  try {
    client = await pool.connect();
    const results = await read(client, [findStored(group, Math.max(1, Math.floor(withinMs)))]);
    client.release();
    const [[taken], [found]] = results as [[LockTaken], StoredRow[]];
    if (found === undefined) return taken.oldest_revision <= group.revision ? false : null;
    return { revision: found.revision - 1n, ticket: ticketBefore(group, found), writtenAt: Number(found.written_at) };
  } catch {
    client?.release(true);
    return 'no answer';
  }
}

/**
 * Finds where a group is, and sees to it that it never will be stored if it is not. The lock comes first: once it is free, a group
 * that held it has ended, one way or the other; one that has yet to take it finds that the log has come to a time for which it is
 * too old.
 */
export function findStored(group: GroupToStore, lockTimeoutMs: number): string {
  return `${takeLock(lockTimeoutMs)}
    ${group.decision.events.length > 0 ? findEvents(group) : findJoined(group)}
    UPDATE lock_clock SET at = greatest(at, ${group.now + TOO_LATE_MS}) WHERE id = 1;
    COMMIT;`;
}

function findEvents({ revision, groupId, decision: { joined } }: GroupToStore): string {
  return `SELECT first.revision, first.written_at, place.waiter_id, place.ticket
      FROM (SELECT * FROM lock_events WHERE revision > ${revision} AND group_id = ${groupId} ORDER BY revision LIMIT 1) AS first
      LEFT JOIN ${placeOf(joined)} AS place ON true;`;
}

/** Of a group without events: whoever joined in it stands in line, or has had its turn. */
function findJoined({ revision, now, decision: { joined } }: GroupToStore): string {
  return `SELECT ${revision + 1n}::bigint AS revision, coalesce(place.joined_at, ${now}) AS written_at, place.waiter_id, place.ticket
      FROM (SELECT) AS once LEFT JOIN ${placeOf(joined)} AS place ON true
     WHERE place.ticket IS NOT NULL
        OR EXISTS (SELECT FROM lock_grants WHERE revision > ${revision} AND waiter_id = ANY (${textArray(column(joined, 'id'))}));`;
}

function placeOf(joined: readonly Waiter[]): string {
  return `(SELECT waiter_id, ticket, joined_at FROM lock_waiters
     WHERE owner = ANY (${textArray(column(joined, 'owner'))}) AND waiter_id = ANY (${textArray(column(joined, 'id'))}) LIMIT 1)`;
}

/** Where all who joined have had their turn since, nobody will ask for it: it is left as it was counted. */
function ticketBefore({ ticket, decision }: GroupToStore, { waiter_id: id, ticket: stored }: StoredRow): bigint {
  const joined = decision.joined.find((waiter) => waiter.id === id);
  return joined === undefined || stored === null ? ticket : ticket + (stored - joined.ticket);
}
