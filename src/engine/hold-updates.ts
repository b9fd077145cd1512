import type { Lock } from '../locks/lock.js';
import type { Acquired, Conflict, Renewed } from '../locks/outcomes.js';
import type { LostCause } from './lost-cause.js';

/** Standing in line. */
export interface HoldQueued {
  readonly kind: 'hold-queued';
  readonly resource: string;
  /** 1 is next. */
  readonly position: number;
  /** In epoch milliseconds; null: it waits for as long as it takes. */
  readonly deadline: number | null;
}

export interface HoldLost extends Pick<Lock, 'resource' | 'fencingToken'> {
  readonly kind: 'hold-lost';
  readonly cause: LostCause;
}

export type HoldUpdate = HoldQueued | Acquired | Renewed | HoldLost | Conflict;

/** What one listener is still to be told. There are never more than one of a kind, however slow it is. */
export class HoldUpdates {
  #updates: HoldUpdate[] = [];
  #hasEnded = false;
  #error: Error | null = null;
  #answer: (() => void) | null = null;

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The next one; null: that was the last. To be called again only when it has resolved. @throws what it ended with */
  async next(): Promise<HoldUpdate | null> {
    if (this.#updates.length === 0 && !this.#hasEnded) await new Promise<void>((resolve) => (this.#answer = resolve));
    const update = this.#updates.shift();
    if (update !== undefined) return update;
    const error = this.#error;
    this.#error = null;
    if (error !== null) throw error;
    return null;
  }

  tell(update: HoldUpdate): void {
    if (this.#hasEnded) return;
    // Of what comes again and again, only the last one counts.
    if (this.#updates.at(-1)?.kind === update.kind) this.#updates.pop();
    this.#updates.push(update);
    this.#answer?.();
  }

  /** None comes after those that were told. */
  end(error: Error | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#error = error;
    this.#answer?.();
  }

  /** Nobody listens any more. */
  drop(): void {
    this.#updates = [];
    this.end(null);
  }
}
