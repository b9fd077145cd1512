import type pg from 'pg';
import type { Command } from '../../locks/commands.js';
import type { LockEvent } from '../../locks/events.js';
import type { Lock } from '../../locks/lock.js';
import { retryLookups } from '../retry-lookups.js';
import { toEvent, toLock, type EventRow, type LockRow } from '../rows.js';
import { read } from './connections.js';
import { readAcquisitions, readLastEventsOf, readLocksOf, takeLock, type LockTaken } from './group-sql.js';
import { readWaiters, type WaitersRow, type WaitersSought } from './line-sql.js';
import { firstInLine } from './standing-reads.js';

/** What a group may rest on, as it is behind the lock. */
export interface GroupReads {
  readonly taken: LockTaken;
  readonly sought: WaitersSought;
  readonly waiters: readonly WaitersRow[];
  readonly rows: Map<string, Lock>;
  /** The newest ones that bear the requests of the commands. */
  readonly acquired: readonly LockEvent[];
}

/**
 * Takes the lock, and reads what is behind it, in one message.
 *
 * @param moment no later than that of the group
 */
export async function readGroup(
  client: pg.PoolClient,
  commands: readonly Command[],
  resources: readonly string[],
  lockTimeoutMs: number,
  moment: number,
): Promise<GroupReads> {
  const { acquisitions } = retryLookups(commands, new Map());
  const sought = firstInLine(commands, resources, moment);
  const results = await read(client, [
    takeLock(lockTimeoutMs),
    readWaiters(sought),
    ...(resources.length === 0 ? [] : [readLocksOf(resources)]),
    ...(acquisitions.length === 0 ? [] : [readAcquisitions(acquisitions)]),
  ]);
  const [taken] = results.shift() as [LockTaken];
  const waiters = results.shift() as WaitersRow[];
  const locks = resources.length === 0 ? [] : (results.shift() as LockRow[]).map(toLock);
  const acquired = acquisitions.length === 0 ? [] : (results.shift() as EventRow[]).map(toEvent);
  return { taken, sought, waiters, rows: new Map(locks.map((lock) => [lock.resource, lock])), acquired };
}

/** What the commands may refer to that is not on the rows: rarely anything. */
export async function readReleases(
  client: pg.PoolClient,
  commands: readonly Command[],
  rows: ReadonlyMap<string, Lock>,
  rememberedSince: number,
  oldestRevision: bigint,
): Promise<LockEvent[]> {
  const { releases } = retryLookups(commands, rows);
  if (releases.length === 0) return [];
  const [events] = await read(client, [readLastEventsOf(releases, rememberedSince, oldestRevision)]);
  return (events as EventRow[]).map(toEvent);
}
