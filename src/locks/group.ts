import type { LockEvent } from './events.js';
import type { StandingWaiters } from './lines.js';
import type { Lock } from './lock.js';
import type { Outcome } from './outcomes.js';
import type { RetryMemory } from './retries.js';
import type { Waiter } from './waiter.js';

/** What a group of commands makes of the resources it names. */
export interface GroupDecision {
  /** One for each command, in their order. */
  readonly outcomes: readonly Outcome[];
  /** In revision order, numbered without a gap from the group's first revision on. */
  readonly events: readonly LockEvent[];
  /** The final row of each resource that changed; null: its row is gone. */
  readonly changedRows: ReadonlyMap<string, Lock | null>;
  /** Who stands in line from now on, and who does no more: they had their turn, gave up, or were replaced. */
  readonly joined: readonly Waiter[];
  readonly left: readonly Waiter[];
}

/** What the store read before the group, under its lock. */
export interface GroupState {
  /** The newest revision before the group. */
  readonly revision: bigint;
  readonly now: number;
  /** The row of every resource that the group names, or whose line was read; left out where there is none. */
  readonly rows: ReadonlyMap<string, Lock>;
  /** The events of the retry window that the group's commands may refer to. */
  readonly retries: RetryMemory;
  /** The last one that was given out. */
  readonly ticket: bigint;
  /** null: nobody stands in line anywhere. */
  readonly standing: StandingWaiters | null;
}
