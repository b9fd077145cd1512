import { randomBytes } from 'node:crypto';
import type { AcquireAllCommand, AcquireCommand, LeaveCommand, ReleaseCommand, Wait } from '../locks/commands.js';
import type { LockEvent } from '../locks/events.js';
import type { Lock } from '../locks/lock.js';
import type { Acquired, AcquiredAll, Left, NotInLine, OutcomeOf, Queued } from '../locks/outcomes.js';
import { INSTANCE_LEASE_MS } from '../store/instance-lease.js';
import { StoreUnavailable, type LockStore } from '../store/lock-store.js';
import { giveUp } from './give-up.js';
import type { EngineObserver } from './observer.js';
import { Positions } from './positions.js';
import { repeat } from './repeat.js';
import { WaitingCall, type WaitEnd } from './waiting-call.js';
import type { Writer } from './writer.js';

/** So many signs of life may be lost or late. */
const SIGNS_PER_LEASE = 5;

/** How long a caller is willing to stand in line. */
export interface WaitRequest extends Pick<Wait, 'waitMs' | 'detectDeadlock'> {
  /** Told of its place in line (1 is next) whenever that has changed, at most once a second, and of the moment at which its time is up. */
  readonly tell?: (position: number, deadline: number | null) => void;
}

type Acquire = AcquireCommand | AcquireAllCommand;
type Answer<C extends Acquire> = Exclude<OutcomeOf<C>, Queued>;

/** What somebody got. */
type GivenLock = Pick<Lock, 'resource' | 'owner' | 'fencingToken' | 'acquiredAt' | 'expiresAt' | 'requestId'>;

/** What it needs of the feed. */
export interface GrantFeed {
  /** Resolves when everything up to this revision was told, or can't be for the moment. */
  reach(revision: bigint): Promise<void>;
}

/**
 * The calls that stand in line at this instance. Their places are in the database, so that a lock is handed on by whoever frees it,
 * in the same transaction; that it was is told by the log, from whichever instance.
 *
 * A call is known here by its id before its command is submitted, until it is answered:
 *
 * - at once, where there is nothing to wait for
 * - when the log tells of its turn
 * - when its time is up, its caller is gone, or the server closes: then it leaves the line. Where it has had its turn by then, the
 *   log tells so up to the revision at which it was not found in line: it is answered with that, or what it got is given back.
 * - when another call took over its place, or the log does not go on where it stood: then it is not known what became of it
 *
 * A turn of a call that is not known here any more is undone at once. But what was acquired under a requestId is kept: whoever
 * repeats the request may have been told by now that it has it.
 */
export class WaitingCalls {
  readonly #store: LockStore;
  readonly #writer: Writer;
  readonly #feed: GrantFeed;
  readonly #observer: EngineObserver;
  readonly #instance = randomBytes(9).toString('base64url');
  readonly #calls = new Map<string, WaitingCall>();
  readonly #positions: Positions;
  readonly #stopSigns: () => Promise<void>;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #lastId = 0;

  constructor(store: LockStore, writer: Writer, feed: GrantFeed, observer: EngineObserver) {
    this.#store = store;
    this.#writer = writer;
    this.#feed = feed;
    this.#observer = observer;
    this.#positions = new Positions(store, this.#instance, observer);
    this.#stopSigns = repeat(INSTANCE_LEASE_MS / SIGNS_PER_LEASE, observer, () => this.#giveSign());
  }

  /**
   * @param caller aborts when nobody waits for the answer any more
   * @throws StoreUnavailable
   */
  acquire<C extends Acquire>(command: Omit<C, 'wait'>, wait: WaitRequest, caller: AbortSignal): Promise<Answer<C>> {
    if (this.#closing.signal.aborted) return Promise.reject(shuttingDown());
    if (caller.aborted) return Promise.reject(callerGone());
    return this.#track(this.#acquire<C>(command, wait, caller));
  }

  /** Takes an event that was somebody's turn. */
  granted(event: LockEvent): void {
    const { waiterId } = event;
    if (waiterId?.startsWith(`${this.#instance}.`) !== true) return;
    const call = this.#calls.get(waiterId);
    if (call === undefined) this.#undo(event);
    else call.grant(event);
  }

  /** The log does not go on where it was: a turn may have been missed. */
  lost(): void {
    for (const call of this.#calls.values()) call.fail(new StoreUnavailable('The history of the database changed', null));
  }

  /** Nobody waits any longer: who stands in line leaves it, and is told to try elsewhere. Resolves when that is done. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const call of this.#calls.values()) call.stop('closing');
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
    await Promise.all([this.#stopSigns(), this.#positions.close()]);
  }

  /** Releases what nobody wants any more; while the database does not answer, it tries again. Never throws. */
  giveBack({ resource, owner, fencingToken, acquiredAt, expiresAt }: GivenLock): Promise<void> {
    return this.#giveUp({ kind: 'release', resource, owner, fencingToken }, expiresAt - acquiredAt);
  }

  async #acquire<C extends Acquire>(command: Omit<C, 'wait'>, wait: WaitRequest, caller: AbortSignal): Promise<Answer<C>> {
    const id = `${this.#instance}.${++this.#lastId}`;
    const { waitMs, detectDeadlock, tell } = wait;
    const submitted = { ...command, wait: { id, instance: this.#instance, waitMs, detectDeadlock } } as C;
    const call = new WaitingCall(submitted);
    this.#calls.set(id, call);
    this.#observer.waiting(this.#calls.size);
    try {
      const outcome = await this.#writer.submit(submitted);
      if (outcome.kind === 'queued') {
        if (outcome.replaced !== null) this.#calls.get(outcome.replaced)?.fail(takenOver());
        if (tell !== undefined)
          this.#positions.follow(call, (position) => tell(position, waitMs === null ? null : outcome.deadline));
        return (await this.#standInLine(call, outcome, caller)) as Answer<C>;
      }
      if (!caller.aborted) return outcome as Answer<C>;
      for (const lock of locksOf(outcome)) this.#undo(lock);
      throw callerGone();
    } finally {
      this.#calls.delete(id);
      this.#positions.leave(call);
      this.#observer.waiting(this.#calls.size);
    }
  }

  async #standInLine(call: WaitingCall, { ticket }: Queued, caller: AbortSignal): Promise<unknown> {
    const startedAt = performance.now();
    if (this.#closing.signal.aborted) call.stop('closing');
    try {
      const end = await call.wait(caller);
      this.#observer.waited(end, performance.now() - startedAt);
      const left = end === 'granted' ? null : await this.#leave(call, ticket);
      // Its turn may have come while it was about to leave.
      if (call.isGranted && !caller.aborted) return call.outcome();
      if (left?.kind === 'left' && end === 'timeout') return call.timedOut(left);
      throw failureOf(end, left);
    } catch (error) {
      if (call.hasFailed) void this.#giveUp(call.leave(ticket), call.waitMs ?? Infinity);
      for (const grant of call.grants) this.#undo(grant);
      throw error;
    }
  }

  async #leave(call: WaitingCall, ticket: bigint): Promise<Left | NotInLine> {
    let left: Left | NotInLine;
    try {
      left = await this.#writer.submit(call.leave(ticket));
    } catch (error) {
      void this.#giveUp(call.leave(ticket), call.waitMs ?? Infinity);
      // Whatever became of the leaving: its turn may have come before.
      throw error instanceof StoreUnavailable ? new StoreUnavailable(error.message, null, { cause: error }) : error;
    }
    if (left.kind === 'not-in-line') await this.#feed.reach(left.revision);
    return left;
  }

  #undo(grant: GivenLock): void {
    if (grant.requestId === null) void this.giveBack(grant);
  }

  #giveUp(command: ReleaseCommand | LeaveCommand, worthMs: number): Promise<void> {
    return this.#track(giveUp(command, worthMs, this.#writer, this.#observer, this.#closing.signal));
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const settled: Promise<unknown> = work.then(
      () => this.#underWay.delete(settled),
      () => this.#underWay.delete(settled),
    );
    this.#underWay.add(settled);
    return work;
  }

  async #giveSign(): Promise<boolean> {
    if (this.#calls.size > 0) await this.#store.keepAlive(this.#instance, (await this.#store.now()) + INSTANCE_LEASE_MS);
    return false;
  }
}

function shuttingDown(): StoreUnavailable {
  return new StoreUnavailable('The server is shutting down', false);
}

function takenOver(): StoreUnavailable {
  return new StoreUnavailable('It stands in line no more: another call with its requestId may have taken over its place', null);
}

function callerGone(): StoreUnavailable {
  return new StoreUnavailable('The caller is gone', false);
}

function failureOf(end: WaitEnd, left: Left | NotInLine | null): StoreUnavailable {
  if (left?.kind === 'not-in-line') return takenOver();
  return end === 'closing' ? shuttingDown() : callerGone();
}

function locksOf(outcome: Acquired | AcquiredAll | { readonly kind: 'conflict' }): readonly Lock[] {
  if (outcome.kind === 'conflict') return [];
  return outcome.kind === 'acquired' ? [outcome.lock] : outcome.locks;
}
