import type { Call, Change, HoldCall, Tolerance } from './history.js';
import type { Row } from './replay.js';

/**
 * The changes that the service makes by itself: it renews for whoever holds by a subscription and releases what that one had, and it
 * gives back what somebody had its turn for who was gone by then. Who names a request is not gone: its repetition finds what it got.
 */
export class UnaskedChanges {
  readonly #tolerance: Tolerance;
  readonly #holds = new Map<string | bigint, HoldCall[]>();
  /** The tokens that somebody was told to have acquired. */
  readonly #toldTokens = new Set<bigint>();
  /** What the acquisitions of those bear who do not come again for what they got without being told. */
  readonly #untold = new Set<string | null>();

  /** @param calls also the parts of those about several locks and of holds */
  constructor(calls: readonly Call[], holds: readonly HoldCall[], tolerance: Tolerance) {
    this.#tolerance = tolerance;
    for (const { question, told } of calls) {
      if (told.kind === 'acquired') this.#toldTokens.add(told.lock.fencingToken);
      if (question.kind !== 'acquire' || question.wait === null || question.requestId !== null) continue;
      this.#untold.add(question.metadata);
    }
    for (const hold of holds) {
      const { fencingToken, metadata } = hold.question;
      // Who was cut off before it was told of its token can't come back with it, whether or not it stood in line.
      if (fencingToken === null) this.#untold.add(metadata);
      const key = fencingToken ?? metadata ?? '';
      this.#holds.set(key, [...(this.#holds.get(key) ?? []), hold]);
    }
  }

  mayBe(change: Change, before: Row | null): boolean {
    const holds = [...(this.#holds.get(change.fencingToken) ?? []), ...(this.#holds.get(change.metadata ?? '') ?? [])];
    if (change.type === 'RENEWED') return holds.some((hold) => before !== null && this.#mayRenew(hold, change, before));
    if (change.type !== 'RELEASED') return false;
    return this.#isUndone(change) || holds.some((hold) => this.#mayRelease(hold, change));
  }

  #mayRenew({ question, wall, updates }: HoldCall, { owner, at, expiresAt }: Change, before: Row): boolean {
    const lost = updates.find(({ told }) => told.kind === 'lost' && told.cause !== 'SHUTDOWN');
    const { commandMs } = this.#tolerance;
    const isInTime =
      wall.from - commandMs <= at && (at <= (lost?.wall ?? Infinity) + commandMs || isHeldLonger(updates, before.expiresAt));
    return isInTime && owner === question.owner && expiresAt === Math.max(before.expiresAt, at + question.ttlMs);
  }

  #mayRelease({ question, wall, end }: HoldCall, { owner, at }: Change): boolean {
    return end === 'completed' && owner === question.owner && wall.to - this.#tolerance.commandMs <= at;
  }

  #isUndone({ fencingToken, metadata }: Change): boolean {
    return this.#untold.has(metadata) && !this.#toldTokens.has(fencingToken);
  }
}

/**
 * Whether somebody else had renewed what was told to be lost, as its time had passed: then a renewal that was under way by that time
 * finds it held.
 */
function isHeldLonger(updates: HoldCall['updates'], expiresAt: number): boolean {
  const isLostAsExpired = updates.some(({ told }) => told.kind === 'lost' && told.cause === 'EXPIRED');
  return isLostAsExpired && updates.every(({ told }) => !('lock' in told) || told.lock.expiresAt < expiresAt);
}
