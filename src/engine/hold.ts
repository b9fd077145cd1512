import type { AcquireCommand, RenewCommand } from '../locks/commands.js';
import type { Lock } from '../locks/lock.js';
import type { Acquired, AcquireOutcome, Conflict, Renewed, RenewOutcome } from '../locks/outcomes.js';
import type { CallerPresence } from './caller-presence.js';
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

/** Standing in line. */
export interface HoldQueued {
  readonly kind: 'hold-queued';
  readonly resource: string;
  /** 1 is next. */
  readonly position: number;
  /** In epoch milliseconds; null: it waits for as long as it takes. */
  readonly deadline: number | null;
}

export type LostCause =
  /** It was not renewed in time. */
  | 'EXPIRED'
  /** Re-acquired under the same owner. */
  | 'SUPERSEDED'
  /** Released by somebody who named its owner. */
  | 'RELEASED'
  /** The instance goes away, and renews it no longer: it is held until it expires. */
  | 'SHUTDOWN';

export interface HoldLost {
  readonly kind: 'hold-lost';
  readonly resource: string;
  readonly fencingToken: bigint;
  readonly cause: LostCause;
}

export type HoldUpdate = HoldQueued | Acquired | Renewed | HoldLost | Conflict;

/** What it needs of the engine. */
export interface HoldEngine {
  acquire(command: Omit<AcquireCommand, 'wait'>, wait: WaitRequest | null, caller: () => CallerPresence): Promise<AcquireOutcome>;
  submit(command: RenewCommand): Promise<RenewOutcome>;
  watch(request: WatchRequest): AsyncIterableIterator<WatchItem>;
  now(): Promise<number>;
  /** Releases the lock; while the database does not answer, it tries again until the lock would have expired. */
  giveBack(lock: Lock): Promise<void>;
}

type Result = IteratorResult<HoldUpdate, undefined>;

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
 *    refusal, the updates end.
 *
 * Whoever stops listening leaves the line at once; what it holds is released where it said that it was done. Else it may have been cut
 * off, and can come back with its token: the lock is only renewed no longer.
 */
export class Hold implements AsyncIterableIterator<HoldUpdate> {
  readonly #engine: HoldEngine;
  readonly #request: HoldRequest;
  readonly #hasCompleted: () => boolean;
  readonly #onEnd: () => void;
  readonly #gone = new AbortController();
  #lock: Lock | null = null;
  #watch: AsyncIterableIterator<WatchItem> | null = null;
  #renewal: NodeJS.Timeout | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #updates: HoldUpdate[] = [];
  #hasEnded = false;
  #error: Error | null = null;
  #answer: (() => void) | null = null;

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
    if (this.#updates.length === 0 && !this.#hasEnded) await new Promise<void>((resolve) => (this.#answer = resolve));
    const update = this.#updates.shift();
    if (update !== undefined) return { done: false, value: update };
    const error = this.#error;
    this.#error = null;
    if (error !== null) throw error;
    return { done: true, value: undefined };
  }

  async return(): Promise<Result> {
    const lock = this.#lock;
    this.#updates = [];
    this.#end(null);
    if (lock !== null && this.#hasCompleted()) await this.#engine.giveBack(lock);
    return { done: true, value: undefined };
  }

  /** The server goes away. What it waits for it waits for elsewhere. */
  shutDown(): void {
    if (this.#lock !== null) this.#lose('SHUTDOWN');
  }

  async #begin(): Promise<void> {
    const { resource, owner, ttlMs, waitMs, fencingToken, metadata } = this.#request;
    if (fencingToken !== null) {
      const outcome = await this.#engine.submit({ kind: 'renew', resource, owner, fencingToken, ttlMs });
      if (outcome.kind === 'renewed') await this.#hold(outcome);
      else this.#tellLast({ kind: 'hold-lost', resource, fencingToken, cause: causeOf(outcome) });
      return;
    }
    const command = { kind: 'acquire', resource, owner, ttlMs, requestId: null, reacquire: true, metadata } as const;
    const tell = (position: number, deadline: number | null) => this.#tell({ kind: 'hold-queued', resource, position, deadline });
    const wait = waitMs === 0 ? null : { waitMs, detectDeadlock: false, tell };
    const outcome = await this.#engine.acquire(command, wait, () => this.#gone.signal);
    if (outcome.kind === 'conflict') this.#tellLast(outcome);
    else if (!this.#hasEnded) await this.#hold(outcome);
    else if (this.#hasCompleted()) await this.#engine.giveBack(outcome.lock);
  }

  async #hold(update: Acquired | Renewed): Promise<void> {
    const { lock } = update;
    this.#lock = lock;
    this.#tell(update);
    const askedAt = performance.now();
    const now = await this.#engine.now();
    this.#heldUntil(askedAt + lock.expiresAt - now);
    const { resource, revision, fencingToken } = lock;
    const selector = { resource, prefix: null, owner: null };
    this.#watch = this.#engine.watch({ selector, types: null, after: revision, logId: null, snapshot: true });
    for await (const item of this.#watch) {
      const cause = causeIn(item, fencingToken);
      if (cause !== null) this.#lose(cause);
    }
  }

  /** @param until by `performance.now()`: from then on it is lost, unless it is renewed before */
  #heldUntil(until: number): void {
    if (this.#hasEnded) return;
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.#lose('EXPIRED'), until - performance.now());
    this.#renewAfter(this.#request.ttlMs * RENEWED_AFTER);
  }

  #renewAfter(pauseMs: number): void {
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(() => void this.#renew(), Math.max(pauseMs, MIN_PAUSE_MS));
  }

  async #renew(): Promise<void> {
    const lock = this.#lock;
    if (lock === null || this.#hasEnded) return;
    const { resource, owner, fencingToken } = lock;
    const { ttlMs } = this.#request;
    const askedAt = performance.now();
    try {
      const outcome = await this.#engine.submit({ kind: 'renew', resource, owner, fencingToken, ttlMs });
      if (this.#hasEnded) return;
      if (outcome.kind === 'renewed') {
        this.#lock = outcome.lock;
        this.#tell(outcome);
        this.#heldUntil(askedAt + ttlMs);
      } else {
        this.#lose(causeOf(outcome));
      }
    } catch {
      // It is known already that the database did not answer. Whether the lock is lost is not.
      if (!this.#hasEnded) this.#renewAfter(ttlMs * RETRIED_AFTER);
    }
  }

  #lose(cause: LostCause): void {
    const lock = this.#lock;
    if (lock === null || this.#hasEnded) return;
    const { resource, fencingToken } = lock;
    this.#tellLast({ kind: 'hold-lost', resource, fencingToken, cause });
  }

  #tell(update: HoldUpdate): void {
    if (this.#hasEnded) return;
    // Of a listener that is slow, only the last counts of what comes again and again.
    if (this.#updates.at(-1)?.kind === update.kind) this.#updates.pop();
    this.#updates.push(update);
    this.#answer?.();
  }

  #tellLast(update: HoldUpdate): void {
    this.#tell(update);
    this.#end(null);
  }

  #end(error: Error | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#error = error;
    this.#lock = null;
    this.#gone.abort();
    clearTimeout(this.#renewal);
    clearTimeout(this.#expiry);
    void this.#watch?.return?.();
    this.#onEnd();
    this.#answer?.();
  }
}

/** Why an acquisition is held no more, as the refusal of its renewal tells. */
function causeOf(refusal: Exclude<RenewOutcome, Renewed>): LostCause {
  if (refusal.kind === 'not-found') return 'RELEASED';
  return refusal.reason === 'STALE_TOKEN' ? 'SUPERSEDED' : 'EXPIRED';
}

/** Why an acquisition is held no more, as the log tells; null: it is held. */
function causeIn(item: WatchItem, fencingToken: bigint): LostCause | null {
  if (item.kind === 'bookmark') return null;
  if (item.kind === 'snapshot') {
    const isHeld = !item.complete || item.locks.some((lock) => lock.fencingToken === fencingToken);
    return isHeld ? null : 'EXPIRED';
  }
  const { type, fencingToken: token } = item.event;
  if (type === 'RELEASED' || type === 'EXPIRED') return token === fencingToken ? type : null;
  return token > fencingToken ? 'SUPERSEDED' : null;
}
