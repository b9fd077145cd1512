import type { AcquireCommand, RenewCommand } from '../locks/commands.js';
import type { Lock } from '../locks/lock.js';
import type { Acquired, AcquireOutcome, Renewed, RenewOutcome } from '../locks/outcomes.js';
import type { CallerPresence } from './caller-presence.js';
import { HoldUpdates, type HoldUpdate } from './hold-updates.js';
import { causeIn, causeOf, guessedCause, type LostCause, type ReadLog } from './lost-cause.js';
import type { WaitRequest } from './waiting-calls.js';
import type { WatchItem, WatchRequest } from './watch.js';

/** What somebody wants to hold for as long as it listens. */
export interface HoldRequest extends Pick<AcquireCommand, 'resource' | 'owner' | 'metadata'> {
  readonly ttlMs: number;
  /** How long to stand in line; null: for as long as it takes; 0: not at all. */
  readonly waitMs: number | null;
  /** Go on with this acquisition; null: a new one. */
  readonly fencingToken: bigint | null;
}

/** What it needs of the engine. */
export interface HoldEngine {
  acquire(command: Omit<AcquireCommand, 'wait'>, wait: WaitRequest | null, caller: () => CallerPresence): Promise<AcquireOutcome>;
  submit(command: RenewCommand): Promise<RenewOutcome>;
  watch(request: WatchRequest): AsyncIterableIterator<WatchItem>;
  readonly readLog: ReadLog;
  now(): Promise<number>;
  /** Releases the lock; while the database does not answer, it tries again until the lock would have expired. */
  giveBack(lock: Lock): Promise<void>;
}

type Result = IteratorResult<HoldUpdate, undefined>;

const END: Result = { done: true, value: undefined };

/** It is renewed when so much of its TTL has passed: two renewals may fail. */
const RENEWED_AFTER = 1 / 3;
/** After a failure it is tried again when so much of its TTL has passed. */
const RETRIED_AFTER = 1 / 15;
const MIN_PAUSE_MS = 50;

/**
 * Holds one lock for as long as somebody listens:
 *
 * 1. It stands in line, and tells of its place.
 * 2. It has the lock, and renews it. A renewal that fails is tried again; what is not known to be lost is not told to be.
 * 3. It is lost when the log tells so, when a renewal is refused, or when no renewal has succeeded for a whole TTL. Then, as after a
 *    refusal, the updates end. Of a renewal that is refused the log tells why; a TTL that is over is told as that, without a question.
 *
 * Whoever stops listening leaves the line at once; what it holds is released where it said that it was done. Else it may have been cut
 * off, and can come back with its token: the lock is only renewed no longer.
 */
export class Hold implements AsyncIterableIterator<HoldUpdate> {
  readonly #engine: HoldEngine;
  readonly #request: HoldRequest;
  readonly #hasCompleted: () => boolean;
  readonly #onEnd: () => void;
  readonly #updates = new HoldUpdates();
  readonly #gone = new AbortController();
  /** null: not yet, or no more. */
  #lock: Lock | null = null;
  /** By `performance.now()`: from then on it is lost, unless it is renewed before; 0: not known yet. */
  #until = 0;
  #watch: AsyncIterableIterator<WatchItem> | null = null;
  #renewal: NodeJS.Timeout | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #isShuttingDown = false;

  /**
   * @param hasCompleted asked when it is returned: whether the listener said that it is done
   * @param onEnd called once, at its end
   */
  constructor(engine: HoldEngine, request: HoldRequest, hasCompleted: () => boolean, onEnd: () => void) {
    this.#engine = engine;
    this.#request = request;
    this.#hasCompleted = hasCompleted;
    this.#onEnd = onEnd;
    this.#begin().catch((error: unknown) => this.#end(error as Error));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * The next update. To be called again only when it has resolved.
   *
   * @throws StoreUnavailable where the lock could not be had because the database did not answer
   */
  async next(): Promise<Result> {
    const update = await this.#updates.next();
    return update === null ? END : { done: false, value: update };
  }

  async return(): Promise<Result> {
    const lock = this.#lock;
    this.#end(null);
    this.#updates.drop();
    if (lock !== null && this.#hasCompleted()) await this.#engine.giveBack(lock);
    return END;
  }

  /** The server goes away. What it waits for it waits for elsewhere. */
  shutDown(): void {
    this.#isShuttingDown = true;
    this.#lose('SHUTDOWN');
  }

  async #begin(): Promise<void> {
    const { resource, owner, ttlMs, waitMs, fencingToken, metadata } = this.#request;
    if (fencingToken !== null) {
      const outcome = await this.#engine.submit({ kind: 'renew', resource, owner, fencingToken, ttlMs });
      if (outcome.kind === 'renewed') {
        await this.#hold(outcome);
        return;
      }
      // The revision of its ACQUIRED is all that is known of it.
      const lost = { resource, owner, fencingToken, revision: fencingToken };
      const cause = await causeOf(lost, guessedCause(outcome), this.#engine.readLog);
      this.#tellLast({ kind: 'hold-lost', resource, fencingToken, cause });
      return;
    }
    const command = { kind: 'acquire', resource, owner, ttlMs, requestId: null, reacquire: true, metadata } as const;
    const tell = (position: number, deadline: number | null) =>
      this.#updates.tell({ kind: 'hold-queued', resource, position, deadline });
    const wait = waitMs === 0 ? null : { waitMs, detectDeadlock: false, tell };
    const outcome = await this.#engine.acquire(command, wait, () => this.#gone.signal);
    if (outcome.kind === 'conflict') this.#tellLast(outcome);
    // Nobody was told its token, so nobody can come back with it.
    else if (this.#updates.hasEnded) await this.#engine.giveBack(outcome.lock);
    else await this.#hold(outcome);
  }

  async #hold(update: Acquired | Renewed): Promise<void> {
    const { lock } = update;
    if (this.#updates.hasEnded) {
      if (this.#hasCompleted()) await this.#engine.giveBack(lock);
      return;
    }
    this.#lock = lock;
    this.#updates.tell(update);
    if (this.#isShuttingDown) this.#lose('SHUTDOWN');
    else void this.#follow(lock);
    const knownAt = performance.now();
    // Where the time can't be read, its expiry is not known better than by its TTL.
    const leftMs = await this.#engine.now().then(
      (now) => (this.#lock ?? lock).expiresAt - now,
      () => this.#request.ttlMs,
    );
    this.#heldUntil(knownAt + leftMs);
  }

  /** Looks at what the log tells of the lock. Where that can't be read, the renewals tell as well, though later. */
  async #follow({ resource, revision, fencingToken }: Lock): Promise<void> {
    const selector = { resource, prefix: null, owner: null };
    this.#watch = this.#engine.watch({ selector, types: null, after: revision, logId: null, snapshot: true });
    try {
      for await (const item of this.#watch) {
        if (item.kind === 'bookmark') continue;
        if (item.kind === 'snapshot') {
          const held = item.locks.find((lock) => lock.fencingToken === fencingToken);
          if (held !== undefined) this.#extendTo(held);
          else await this.#loseAsLogged('EXPIRED');
          continue;
        }
        const cause = causeIn(item.event, fencingToken);
        if (cause === null) this.#extendTo(item.event);
        else this.#lose(cause);
      }
    } catch {
      this.#watch = null;
    }
  }

  /** It is held for longer than was known: by its own renewal, or by one of somebody else who names its owner. */
  #extendTo({ revision, expiresAt }: Pick<Lock, 'revision' | 'expiresAt'>): void {
    if (this.#lock === null || revision <= this.#lock.revision) return;
    // A renewal never brings it forward.
    const longerMs = expiresAt - this.#lock.expiresAt;
    this.#lock = { ...this.#lock, revision, expiresAt };
    if (this.#until > 0) this.#expireAt(this.#until + longerMs);
  }

  #heldUntil(until: number): void {
    if (this.#updates.hasEnded) return;
    this.#expireAt(Math.max(this.#until, until));
    this.#renewAfter(this.#request.ttlMs * RENEWED_AFTER);
  }

  #expireAt(until: number): void {
    this.#until = until;
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.#lose('EXPIRED'), until - performance.now());
  }

  #renewAfter(pauseMs: number): void {
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(() => void this.#renew(), Math.max(pauseMs, MIN_PAUSE_MS));
  }

  async #renew(): Promise<void> {
    const { resource, owner, ttlMs } = this.#request;
    if (this.#lock === null) return;
    const { fencingToken } = this.#lock;
    const askedAt = performance.now();
    let outcome: RenewOutcome;
    try {
      outcome = await this.#engine.submit({ kind: 'renew', resource, owner, fencingToken, ttlMs });
    } catch {
      // It is known already that the database did not answer. Whether the lock is lost is not.
      if (!this.#updates.hasEnded) this.#renewAfter(ttlMs * RETRIED_AFTER);
      return;
    }
    if (this.#updates.hasEnded) return;
    if (outcome.kind !== 'renewed') {
      await this.#loseAsLogged(guessedCause(outcome));
      return;
    }
    this.#extendTo(outcome.lock);
    this.#updates.tell(outcome);
    this.#heldUntil(askedAt + ttlMs);
    if (this.#watch === null) void this.#follow(outcome.lock);
  }

  /** While the log is read it may be told for another reason: by an event that comes, or since its time has passed. */
  async #loseAsLogged(guess: LostCause): Promise<void> {
    if (this.#lock !== null) this.#lose(await causeOf(this.#lock, guess, this.#engine.readLog));
  }

  #lose(cause: LostCause): void {
    if (this.#lock === null) return;
    const { resource, fencingToken } = this.#lock;
    this.#tellLast({ kind: 'hold-lost', resource, fencingToken, cause });
  }

  #tellLast(update: HoldUpdate): void {
    this.#updates.tell(update);
    this.#end(null);
  }

  #end(error: Error | null): void {
    if (this.#updates.hasEnded) return;
    this.#updates.end(error);
    this.#lock = null;
    this.#gone.abort();
    clearTimeout(this.#renewal);
    clearTimeout(this.#expiry);
    void this.#watch?.return?.();
    this.#onEnd();
  }
}
