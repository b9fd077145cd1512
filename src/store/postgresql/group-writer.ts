import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { resourcesOfAll, type Command } from '../../locks/commands.js';
import { decideGroup } from '../../locks/decide-group.js';
import type { Lock } from '../../locks/lock.js';
import { RetryMemory } from '../../locks/retries.js';
import { DECISION_MAX_AGE_MS, MAX_DECISIONS } from '../decision-age.js';
import { StoreUnavailable, type CommittedGroup, type LogPage } from '../lock-store.js';
import { retryLookups } from '../retry-lookups.js';
import type { Announcer } from './announcer.js';
import { decideFromMemory, NOTHING_REMEMBERED } from './decide-from-memory.js';
import { storeIfUnchanged } from './store-if-unchanged.js';
import { InstanceMemory, type Sighting } from './instance-memory.js';
import { read } from './connections.js';
import { endsSession, isOutage, isPassing, namedFault } from './faults.js';
import { readGroup, readReleases } from './group-reads.js';
import { LOCK_TIMEOUT_MS, storeGroup, type StoreAnswer } from './group-sql.js';
import type { GroupToStore } from './group-to-store.js';
import { findGroup, type StoredAt } from './lost-answers.js';
import { decideInLine, readStanding } from './standing-reads.js';

/** A group whose connection breaks before this is tried on another one. */
const REPEAT_WITHIN_MS = 2500;
/** What is left of the wait for the lock then, at the least. */
const SHORT_LOCK_TIMEOUT_MS = 1000;

/** A decision from memory waits no longer than this for the lock: its leases would be shorter by the wait. */
const FROM_MEMORY_MAX_AGE_MS = 100;

export interface GroupWriterOptions {
  readonly retryWindowMs: number;
  /** Epoch milliseconds that are set by hand; null: the database's clock. */
  readonly wall: (() => number) | null;
  /** See {@link GrowthListener.sessionKey}. */
  readonly sessionKey: () => bigint | null;
  /** The time must not run back behind what this instance has told already. */
  readonly notBefore: (now: number) => number;
}

/**
 * Decides and stores groups, each in one transaction. As a rule that is one message: the group is decided on what this
 * instance remembers, and the database stores it where that is still true. Where it is not, or too little is known, it is two:
 *
 * 1. Take the lock, then read the time and what the group's commands are about.
 * 2. Store what was decided, and commit.
 */
export class GroupWriter {
  readonly #pool: pg.Pool;
  readonly #options: GroupWriterOptions;
  readonly #announcer: Announcer;
  readonly #memory = new InstanceMemory();

  constructor(pool: pg.Pool, announcer: Announcer, options: GroupWriterOptions) {
    this.#pool = pool;
    this.#announcer = announcer;
    this.#options = options;
  }

  async commit(commands: readonly Command[]): Promise<CommittedGroup> {
    const startedAt = performance.now();
    let stored = await this.#storeFromMemory(commands, startedAt);
    for (let attempt = 1; stored === null; attempt++) stored = await this.#attempt(commands, startedAt, attempt >= MAX_DECISIONS);
    const { decision, logId, revision, isAnnounced } = stored;
    if (decision.events.length > 0) this.#announcer.stored(revision + BigInt(decision.events.length), isAnnounced);
    return { outcomes: decision.outcomes, events: decision.events, logId, commitMs: performance.now() - startedAt };
  }

  /** Takes what the log tells of groups behind that revision, also of other instances. */
  follow(after: bigint, page: LogPage): void {
    this.#memory.follow(after, page);
  }

  /** Null: nothing was stored, since too little is known, or what is remembered is not true. */
  async #storeFromMemory(commands: readonly Command[], startedAt: number): Promise<GroupToStore | null> {
    const remembered = this.#memory.for(commands, (clock) => this.#now(clock));
    if (remembered === null) return null;
    const { acquisitions, releases } = retryLookups(commands, remembered.rows);
    if (
      releases.length > 0 ||
      commands.some((command) => command.kind === 'leave' || namesTokenAbove(remembered.revision, command))
    )
      return null;
    const decision = decideFromMemory(remembered, commands);
    if (decision === null) return null;

    // Whoever has its turn in line may be waiting on another instance.
    const isAnnounced = decision.left.length > 0 || (decision.events.length > 0 && this.#announcer.isDue);
    const group = { ...remembered, retries: NOTHING_REMEMBERED, decision, isAnnounced, groupId: newGroupId() };
    const toCompare = { commands, acquisitions, rememberedSince: remembered.now - this.#options.retryWindowMs };
    const client = await this.#connect();
    const askedAt = performance.now();
    try {
      const answer = await store(client, storeIfUnchanged(group, toCompare, FROM_MEMORY_MAX_AGE_MS, this.#options.sessionKey()));
      const readAt = Number(answer.read_at);
      if (answer.stored) {
        this.#memory.compareClock({ readAt, askedAt, answeredAt: performance.now() });
        const { revision, ticket } = answer;
        const stored = asStored(group, commands, {
          revision,
          ticket: ticket ?? group.ticket,
          writtenAt: Number(answer.written_at),
        });
        this.#memory.trust();
        this.#learn(stored);
        return stored;
      }
      this.#memory.distrust({ expected: remembered.clock, readAt });
      return null;
    } catch (error) {
      this.#memory.distrust(null);
      return this.#afterFault(client, error, group, commands, startedAt + REPEAT_WITHIN_MS);
    }
  }

  /** Null: nothing was stored, and the next attempt may do better. */
  async #attempt(commands: readonly Command[], startedAt: number, isLast: boolean): Promise<GroupToStore | null> {
    const client = await this.#connect();
    let decided: GroupToStore | null = null;
    try {
      const waitedMs = performance.now() - startedAt;
      decided = await this.#decide(client, commands, Math.max(LOCK_TIMEOUT_MS - Math.round(waitedMs), SHORT_LOCK_TIMEOUT_MS));
      if (changesNothing(decided, commands)) {
        void rollBack(client);
        return decided;
      }
      const answer = await store(client, storeGroup(decided, isLast ? null : DECISION_MAX_AGE_MS, this.#options.sessionKey()));
      if (!answer.stored) return null;
      this.#learn(decided);
      return decided;
    } catch (error) {
      return this.#afterFault(client, error, decided, commands, isLast ? -Infinity : startedAt + REPEAT_WITHIN_MS);
    }
  }

  /**
   * Finds out what became of the group. Null: it was not stored, and may be tried again.
   *
   * @param group null: nothing was to be stored yet
   */
  async #afterFault(
    client: pg.PoolClient,
    error: unknown,
    group: GroupToStore | null,
    commands: readonly Command[],
    repeatUntil: number,
  ): Promise<GroupToStore | null> {
    const isRolledBack = await endAfter(client, error);
    if (!isOutage(error)) throw error;
    if (group !== null && !isRolledBack) {
      const found = await findGroup(this.#pool, group);
      if (found === null) throw new StoreUnavailable('The database did not confirm the group', null, { cause: error });
      if (found) return asStored(group, commands, found);
    }
    if (performance.now() < repeatUntil && isPassing(error)) return null;
    throw new StoreUnavailable('The database did not take the group', false, { cause: error });
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw namedFault(error, 'The database can not be reached', false);
    }
  }

  async #decide(client: pg.PoolClient, commands: readonly Command[], lockTimeoutMs: number): Promise<GroupToStore> {
    const resources = resourcesOfAll(commands);
    const askedAt = performance.now();
    const { taken, waiters, sought, rows, acquired } = await readGroup(client, commands, resources, lockTimeoutMs, this.#now(0));
    const answeredAt = performance.now();

    const { log_id: logId, revision, at, read_at: readAt } = taken;
    const now = Math.max(this.#now(Number(readAt)), Number(at));
    this.#memory.learn({ logId, revision, at: Number(at) }, rowsOrNone(resources, rows));
    this.#memory.compareClock({ readAt: Number(readAt), askedAt, answeredAt });
    const rememberedSince = now - this.#options.retryWindowMs;
    const retries = new RetryMemory();
    for (const event of acquired) if (event.writtenAt >= rememberedSince) retries.learn(event);
    const releases = await readReleases(client, commands, rows, rememberedSince, taken.oldest_revision);
    for (const event of releases) retries.learn(event);

    const state = { revision, now, rows, retries, ...readStanding(waiters, sought, now) };
    const decision = await decideInLine(client, state, commands);
    this.#memory.lines.read(resources, state.ticket, state.standing?.lines ?? new Map());
    return {
      ...state,
      decision,
      logId,
      clock: Number(readAt),
      // At once: whoever has its turn in line may be waiting on another instance.
      isAnnounced: decision.events.length > 0,
      groupId: newGroupId(),
    };
  }

  #learn(stored: GroupToStore): void {
    this.#memory.learn(sightingAfter(stored), stored.decision.changedRows);
    this.#memory.lines.change(stored.ticket, stored.decision);
  }

  #now(databaseTime: number): number {
    return this.#options.notBefore(this.#options.wall?.() ?? databaseTime);
  }
}

/** The group as it is stored there: with the tokens, tickets and times that follow from that. */
function asStored(group: GroupToStore, commands: readonly Command[], { revision, ticket, writtenAt: now }: StoredAt): GroupToStore {
  if (revision === group.revision && ticket === group.ticket && now === group.now) return group;
  const { rows, standing, retries } = group;
  const state = { revision, ticket, now, rows, standing, retries };
  return { ...group, ...state, decision: decideGroup(state, commands) };
}

/** A token that is yet to be given is counted from where the group is stored, which is not known before. */
function namesTokenAbove(revision: bigint, command: Command): boolean {
  const isAbove = (token: bigint | null) => token !== null && token > revision;
  if (command.kind === 'release-all' || command.kind === 'renew-all')
    return command.locks.some(({ fencingToken }) => isAbove(fencingToken));
  return 'fencingToken' in command && isAbove(command.fencingToken);
}

/** Of 62 bits. */
function newGroupId(): bigint {
  return BigInt.asUintN(62, randomBytes(8).readBigUInt64LE());
}

function sightingAfter({ logId, revision, now, decision }: GroupToStore): Sighting {
  return { logId, revision: revision + BigInt(decision.events.length), at: now };
}

function rowsOrNone(resources: readonly string[], rows: ReadonlyMap<string, Lock>): Map<string, Lock | null> {
  return new Map(resources.map((resource) => [resource, rows.get(resource) ?? null]));
}

/** A group without commands is there to write. */
function changesNothing({ decision }: GroupToStore, commands: readonly Command[]): boolean {
  const { events, joined, left } = decision;
  return events.length + joined.length + left.length === 0 && commands.length > 0;
}

async function store(client: pg.PoolClient, sql: string): Promise<StoreAnswer> {
  const [[answer]] = (await read(client, [sql])) as [[StoreAnswer]];
  client.release();
  return answer;
}

/**
 * Ends the transaction without a commit, and lets go of the connection; resolves to whether it ended so, which is certain where
 * the session goes on. Nobody needs to wait for it after a read: what was read under the lock stays true, whatever becomes of it.
 */
async function rollBack(client: pg.PoolClient): Promise<boolean> {
  try {
    await client.query('ROLLBACK');
    client.release();
    return true;
  } catch {
    client.release(true);
    return false;
  }
}

/** The same after an error: only where the database reported it, and as none of its own, the session goes on. */
async function endAfter(client: pg.PoolClient, error: unknown): Promise<boolean> {
  if (error instanceof pg.DatabaseError && !endsSession(error)) return rollBack(client);
  client.release(true);
  return false;
}
