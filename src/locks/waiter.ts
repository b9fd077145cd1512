/** When the wait of one ends that waits for as long as it takes: the last moment that a date can have. */
export const NEVER = 8_640_000_000_000_000;

/** A call that stands in line for one resource, or for several at once. It holds nothing while it waits. */
export interface Waiter {
  /**
   * The order of arrival: whoever has a lower one is ahead, in every line. That of a waiter which came and went within one group
   * is given out again.
   */
  readonly ticket: bigint;
  /** The call, as the instance that serves it named it: no two calls share one, and a call has but one. */
  readonly id: string;
  /** While it gives signs of life, so do its waiters. */
  readonly instance: string;
  readonly owner: string;
  /** All of them or none: it is first in each of their lines before it gets any. */
  readonly resources: readonly string[];
  readonly ttlMs: number;
  readonly requestId: string | null;
  /** JSON text. */
  readonly metadata: string | null;
  /** Of the resources that the owner held when the call came: such an acquisition does not stand in its way. */
  readonly ownTokens: readonly bigint[];
  readonly joinedAt: number;
  /** From this moment on it gets nothing. */
  readonly deadline: number;
}

/** Who stands in line for one resource, by ticket. Whoever gets nothing any more is left out: see {@link Waiter.deadline}. */
export interface Line {
  readonly waiters: readonly Waiter[];
  /** false: there may be more behind them. */
  readonly isWhole: boolean;
}
