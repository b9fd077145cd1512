import type { GroupDecision } from '../../locks/group.js';
import type { StandingWaiters } from '../../locks/lines.js';
import type { Lock } from '../../locks/lock.js';
import type { RetryMemory } from '../../locks/retries.js';

/** A group as it was decided, and what the decision rests on. */
export interface GroupToStore {
  readonly decision: GroupDecision;
  readonly logId: string;
  /** The newest one before it, as far as it is known: the decision counts from there. */
  readonly revision: bigint;
  readonly now: number;
  /** What the database's clock showed then, or would have. */
  readonly clock: number;
  /** What it may refer to in the log. */
  readonly retries: RetryMemory;
  /** The rows of its resources before it. */
  readonly rows: ReadonlyMap<string, Lock>;
  /** The last ticket before it, as far as it is known: the decision counts from there. */
  readonly ticket: bigint;
  readonly standing: StandingWaiters | null;
  /** Whether other instances are told of it as it commits. */
  readonly isAnnounced: boolean;
  /** Any number that no other group has. */
  readonly groupId: bigint;
}
