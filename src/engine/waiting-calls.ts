import { randomBytes } from 'node:crypto';
import type { AcquireAllCommand, AcquireCommand, LeaveCommand, ReleaseCommand, Wait } from '../locks/commands.js';
import type { LockEvent } from '../locks/events.js';
import type { Lock } from '../locks/lock.js';
import type { Acquired, AcquiredAll, Left, NotInLine, Outcome, OutcomeOf, Queued } from '../locks/outcomes.js';
import { INSTANCE_LEASE_MS } from '../store/instance-lease.js';
import { StoreUnavailable, type LockStore } from '../store/lock-store.js';
import { PASSED_OVER_MS } from '../store/retention.js';
import type { CallerPresence } from './caller-presence.js';
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
 * - when another call took over its place, or the log does not go on where it stood, or this instance gave no sign of life for so
 *   long that its places may be gone: then it is not known what became of it
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
  readonly #givingUp = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #onEmpty: (() => void) | null = null;
  /** By the store's clock: what its last sign of life promised to those who wait; null: there was nobody. */
  #aliveUntil: number | null = null;
  #inLine = 0;
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
  acquire<C extends Acquire>(command: Omit<C, 'wait'>, wait: WaitRequest, caller: CallerPresence): Promise<Answer<C>> {
    if (this.#closing.signal.aborted) return Promise.reject(shuttingDown());
    if (caller.aborted) return Promise.reject(callerGone());
    return new Promise<Answer<C>>((resolve, reject) => {
      const id = `${this.#instance}.${++this.#lastId}`;
      const submitted = withWait(command as unknown as Acquire, { id, instance: this.#instance, ...wait });
      const call = new WaitingCall(submitted, id, caller, (ended, end) => {
        this.#observer.waited(end, ended.waitedMs);
        if (end !== 'granted' || !ended.hasCaller || mayBeLate(ended)) {
          this.#answer(ended, end).then(resolve as (answer: unknown) => void, reject);
          return;
        }
        // At once: it comes before whatever else is answered of the group.
        this.#forget(ended);
        resolve(this.#handOver(ended) as Answer<C>);
      });
      this.#calls.set(id, call);
      const submission = this.#writer.submit(submitted);
      submission.catch(() => this.#forget(call));
      submission.then((outcome) => {
        if (outcome.kind === 'queued') {
          this.#queue(call, outcome, wait);
          return;
        }
        this.#forget(call);
        if (!caller.aborted) {
          resolve(outcome as Answer<C>);
          return;
        }
        for (const lock of locksOf(outcome)) this.#undo(lock);
        reject(callerGone());
      }, reject);
    });
  }

  /** Takes an event that was somebody's turn. */
  granted(event: LockEvent): void {
    const { waiterId } = event;
    if (waiterId?.startsWith(`${this.#instance}.`) !== true) return;
    const call = this.#calls.get(waiterId);
    if (call === undefined) this.#undo(event);
    else call.grant(event);
  }

  /** The log does not go on where it was, or nobody kept their places: a turn may have been missed, or may never come. */
  lost(): void {
    for (const call of this.#calls.values()) call.stop('lost');
  }

  /** Nobody waits any longer: who stands in line leaves it, and is told to try elsewhere. Resolves when that is done. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const call of this.#calls.values()) call.stop('closing');
    if (this.#calls.size > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
    while (this.#givingUp.size > 0) await Promise.all(this.#givingUp);
    await Promise.all([this.#stopSigns(), this.#positions.close()]);
  }

  /** Releases what nobody wants any more; while the database does not answer, it tries again. Never throws. */
  giveBack({ resource, owner, fencingToken, acquiredAt, expiresAt }: GivenLock): Promise<void> {
    return this.#giveUp({ kind: 'release', resource, owner, fencingToken }, expiresAt - acquiredAt);
  }

  #queue(call: WaitingCall, { ticket, deadline, replaced }: Queued, { waitMs, tell }: WaitRequest): void {
    if (replaced !== null) this.#calls.get(replaced)?.stop('taken-over');
    if (this.#closing.signal.aborted) call.stop('closing');
    if (tell !== undefined) this.#positions.follow(call, (position) => tell(position, waitMs === null ? null : deadline));
    this.#observer.waiting((this.#inLine += 1));
    call.queue(ticket);
  }

  /** What a call is told that waits no longer. */
  async #answer(call: WaitingCall, end: WaitEnd): Promise<unknown> {
    try {
      const left = end === 'granted' ? null : await this.#leave(call);
      // Its turn may have come while it was about to leave.
      if (call.isGranted && (await this.#isLate(call))) throw new StoreUnavailable('Its turn came, and has passed', null);
      if (call.isGranted && call.hasCaller && end !== 'lost') return this.#handOver(call);
      if (left?.kind === 'left' && end === 'timeout') return call.timedOut(left);
      throw failureOf(end, left);
    } catch (error) {
      for (const grant of call.grants) this.#undo(grant);
      throw error;
    } finally {
      this.#forget(call);
    }
  }

  #handOver(call: WaitingCall): Acquired | AcquiredAll {
    this.#observer.handedOver(Math.max(0, Date.now() - (call.grants[0]?.writtenAt ?? 0)));
    return call.outcome();
  }

  /** Whether what it got has expired before it can be told: this instance was frozen, or cut off from the database. */
  async #isLate(call: WaitingCall): Promise<boolean> {
    const expiresAt = call.grants[0]?.expiresAt ?? Infinity;
    return mayBeLate(call) && (await this.#store.now()) >= expiresAt;
  }

  async #leave(call: WaitingCall): Promise<Left | NotInLine> {
    let left: Left | NotInLine;
    try {
      left = await this.#writer.submit(call.leave());
    } catch (error) {
      void this.#giveUp(call.leave(), call.waitMs ?? Infinity);
      // Whatever became of the leaving: its turn may have come before.
      throw error instanceof StoreUnavailable ? new StoreUnavailable(error.message, null, { cause: error }) : error;
    }
    if (left.kind === 'not-in-line') await this.#feed.reach(left.revision);
    return left;
  }

  #undo(grant: GivenLock): void {
    if (grant.requestId === null) void this.giveBack(grant);
  }

  async #giveUp(command: ReleaseCommand | LeaveCommand, worthMs: number): Promise<void> {
    const work = giveUp(command, worthMs, this.#writer, this.#observer, this.#closing.signal);
    this.#givingUp.add(work);
    await work;
    this.#givingUp.delete(work);
  }

  #forget(call: WaitingCall): void {
    this.#calls.delete(call.id);
    this.#positions.leave(call);
    if (call.isInLine) this.#observer.waiting((this.#inLine -= 1));
    if (this.#calls.size === 0) this.#onEmpty?.();
  }

  async #giveSign(): Promise<boolean> {
    const before = this.#aliveUntil;
    if (this.#calls.size === 0) {
      this.#aliveUntil = null;
      return false;
    }
    const until = (await this.#store.now()) + INSTANCE_LEASE_MS;
    await this.#store.keepAlive(this.#instance, until);
    this.#aliveUntil = until;
    // Then their places may have been removed before the sign came: their turn would never come, and nothing would tell so.
    if (before !== null && (await this.#store.now()) - before >= PASSED_OVER_MS) this.lost();
    return false;
  }
}

/** Written out: objects made by spreading others take several times the memory. */
function withWait(command: Acquire, { id, instance, waitMs, detectDeadlock }: Wait): Acquire {
  const { owner, ttlMs, requestId, reacquire, metadata } = command;
  const wait = { id, instance, waitMs, detectDeadlock };
  return command.kind === 'acquire'
    ? { kind: 'acquire', resource: command.resource, owner, ttlMs, requestId, reacquire, metadata, wait }
    : { kind: 'acquire-all', resources: command.resources, owner, ttlMs, requestId, reacquire, metadata, wait };
}

/** Whether the store's clock has to be asked: this machine's may be another. */
function mayBeLate({ grants: [grant] }: WaitingCall): boolean {
  if (grant === undefined) return false;
  const { acquiredAt, expiresAt } = grant;
  return Date.now() - acquiredAt > (expiresAt - acquiredAt) / 2;
}

function shuttingDown(): StoreUnavailable {
  return new StoreUnavailable('The server is shutting down', false);
}

function callerGone(): StoreUnavailable {
  return new StoreUnavailable('The caller is gone', false);
}

function failureOf(end: WaitEnd, left: Left | NotInLine | null): StoreUnavailable {
  if (end === 'lost') return new StoreUnavailable('The log does not go on where it was, or its place in line is gone', null);
  if (left?.kind === 'not-in-line') {
    return new StoreUnavailable('It stands in line no more: another call with its requestId may have taken over its place', null);
  }
  return end === 'closing' ? shuttingDown() : callerGone();
}

function locksOf(outcome: Outcome): readonly Lock[] {
  if (outcome.kind === 'acquired') return [outcome.lock];
  return outcome.kind === 'acquired-all' ? outcome.locks : [];
}
