import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Command } from '../../locks/commands.js';
import { decideGroup, type GroupDecision } from '../../locks/decide-group.js';
import type { LockEvent } from '../../locks/events.js';
import type { Lock } from '../../locks/lock.js';
import { RetryMemory } from '../../locks/retries.js';
import { DECISION_MAX_AGE_MS, MAX_DECISIONS } from '../decision-age.js';
import { StoreUnavailable, type CommittedGroup } from '../lock-store.js';
import { retryLookups } from '../retry-lookups.js';
import { toEvent, toLock, type EventRow, type LockRow } from '../rows.js';
import { isOutage, isPassing, namedFault } from './faults.js';
import {
  findStored,
  LOCK_TIMEOUT_MS,
  readAcquisitions,
  readLastEventsOf,
  readLocksOf,
  storeGroup,
  takeLock,
  TOO_LATE,
  type LockTaken,
} from './group-sql.js';

/** A group whose connection breaks before this is tried on another one. */
const REPEAT_WITHIN_MS = 2500;
/** What is left of the wait for the lock then, at the least. */
const SHORT_LOCK_TIMEOUT_MS = 1000;

/** Within this an answer that was lost is found out. */
const FIND_OUT_MS = 2000;
const FIND_OUT_PAUSE_MS = 50;

interface Decided extends GroupDecision {
  readonly logId: string;
  /** The newest revision once it is stored. */
  readonly revision: bigint;
  readonly now: number;
  readonly readAt: bigint;
  readonly transactionId: string;
}

export interface GroupWriterOptions {
  readonly retryWindowMs: number;
  /** Epoch milliseconds that are set by hand; null: the database's clock. */
  readonly wall: (() => number) | null;
  /** The time must not run back behind what this instance has told already. */
  readonly notBefore: (now: number) => number;
}

/**
 * Decides and stores groups, each in one transaction of two messages:
 *
 * 1. Take the lock, then read the time and what the group's commands are about.
 * 2. Store what was decided, and commit.
 */
export class GroupWriter {
  readonly #pool: pg.Pool;
  readonly #options: GroupWriterOptions;

  constructor(pool: pg.Pool, options: GroupWriterOptions) {
    this.#pool = pool;
    this.#options = options;
  }

  async commit(commands: readonly Command[]): Promise<CommittedGroup> {
    const startedAt = performance.now();
    for (let attempt = 1; ; attempt++) {
      const decided = await this.#attempt(commands, startedAt, attempt === MAX_DECISIONS);
      if (decided === null) continue;
      const { outcomes, events, logId } = decided;
      return { outcomes, events, logId, commitMs: performance.now() - startedAt };
    }
  }

  /** Null: nothing was stored, and the next attempt may do better. */
  async #attempt(commands: readonly Command[], startedAt: number, isLast: boolean): Promise<Decided | null> {
    const client = await this.#connect();
    let decided: Decided | null = null;
    try {
      const waitedMs = performance.now() - startedAt;
      decided = await this.#decide(client, commands, Math.max(LOCK_TIMEOUT_MS - Math.round(waitedMs), SHORT_LOCK_TIMEOUT_MS));
      if (changesNothing(decided, commands)) void rollBack(client);
      else await store(client, decided, isLast);
    } catch (error) {
      if ((error as { code?: unknown }).code === TOO_LATE) {
        await rollBack(client);
        return null;
      }
      client.release(true);
      if (!isOutage(error)) throw error;
      const isStored = decided === null ? false : await this.#isStored(decided);
      if (isStored === true) return decided;
      const hasTime = !isLast && performance.now() - startedAt < REPEAT_WITHIN_MS;
      if (isStored === false && hasTime && isPassing(error)) return null;
      throw new StoreUnavailable('The database did not take or confirm the group', isStored, { cause: error });
    }
    return decided;
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw namedFault(error, 'The database can not be reached', false);
    }
  }

  async #decide(client: pg.PoolClient, commands: readonly Command[], lockTimeoutMs: number): Promise<Decided> {
    const resources = [...new Set(commands.map(({ resource }) => resource))];
    const { acquisitions } = retryLookups(commands, new Map());
    const results = await read(client, [
      takeLock(lockTimeoutMs),
      ...(resources.length === 0 ? [] : [readLocksOf(resources)]),
      ...(acquisitions.length === 0 ? [] : [readAcquisitions(acquisitions)]),
    ]);
    const [taken] = results.shift() as [LockTaken];
    const locks = resources.length === 0 ? [] : (results.shift() as LockRow[]).map(toLock);
    const acquired = acquisitions.length === 0 ? [] : (results.shift() as EventRow[]).map(toEvent);

    const { notBefore, wall, retryWindowMs } = this.#options;
    const now = Math.max(notBefore(wall?.() ?? Number(taken.read_at)), Number(taken.at));
    const rows = new Map(locks.map((lock) => [lock.resource, lock]));
    const rememberedSince = now - retryWindowMs;
    const retries = new RetryMemory();
    for (const event of acquired) if (event.writtenAt >= rememberedSince) retries.learn(event);
    for (const event of await readReleases(client, commands, rows, rememberedSince)) retries.learn(event);

    const decision = decideGroup({ revision: taken.revision, now, rows, retries }, commands);
    const revision = taken.revision + BigInt(decision.events.length);
    const { log_id: logId, read_at: readAt, transaction_id: transactionId } = taken;
    return { ...decision, logId, revision, now, readAt, transactionId };
  }

  /** The answer to the commit was lost. What it would have been is in the log, once the transaction has ended. Null: not found out. */
  async #isStored({ events, transactionId }: Decided): Promise<boolean | null> {
    const [event] = events;
    // Without an event there was nothing to be stored that a caller could ask for again.
    if (event === undefined) return false;
    const deadline = performance.now() + FIND_OUT_MS;
    for (let left = FIND_OUT_MS; left > 0; left = deadline - performance.now()) {
      const asking = this.#askWhetherStored(event, transactionId, left);
      const answer = await Promise.race([asking, sleep(left, 'no answer' as const, { ref: false })]);
      if (answer !== 'no answer') return answer;
      await sleep(FIND_OUT_PAUSE_MS);
    }
    return null;
  }

  /** Null: the log does not go back that far any more. */
  async #askWhetherStored(event: LockEvent, transactionId: string, withinMs: number): Promise<boolean | null | 'no answer'> {
    let client: pg.PoolClient | null = null;
    try {
      client = await this.#pool.connect();
      const results = await read(client, [findStored(event, transactionId, Math.max(1, Math.floor(withinMs)))]);
      client.release();
      const [[taken], found] = results as [[LockTaken], unknown[]];
      if (found.length === 1) return true;
      return taken.oldest_revision < event.revision ? false : null;
    } catch {
      client?.release(true);
      return 'no answer';
    }
  }
}

/** What the commands may refer to that is not on the rows: rarely anything. */
async function readReleases(
  client: pg.PoolClient,
  commands: readonly Command[],
  rows: ReadonlyMap<string, Lock>,
  rememberedSince: number,
): Promise<LockEvent[]> {
  const { releases } = retryLookups(commands, rows);
  if (releases.length === 0) return [];
  const [events] = await read(client, [readLastEventsOf(releases, rememberedSince)]);
  return (events as EventRow[]).map(toEvent);
}

/** A group without commands is there to write. */
function changesNothing({ events }: Decided, commands: readonly Command[]): boolean {
  return events.length === 0 && commands.length > 0;
}

async function store(client: pg.PoolClient, decided: Decided, isLast: boolean): Promise<void> {
  const { revision, now, readAt } = decided;
  const notAfter = isLast ? null : readAt + BigInt(DECISION_MAX_AGE_MS);
  await client.query(storeGroup({ decision: decided, revision, now, notAfter }));
  client.release();
}

/** Nobody needs to wait for it: what was read under the lock stays true, whatever becomes of the connection. */
async function rollBack(client: pg.PoolClient): Promise<void> {
  try {
    await client.query('ROLLBACK');
    client.release();
  } catch {
    client.release(true);
  }
}

/** Sends the statements in one message, and returns the rows of those that are queries. */
async function read(client: pg.PoolClient, statements: readonly string[]): Promise<unknown[][]> {
  const results = (await client.query(statements.join('\n'))) as pg.QueryResult | pg.QueryResult[];
  return [results]
    .flat()
    .filter(({ command }) => command === 'SELECT')
    .map(({ rows }) => rows as unknown[]);
}
