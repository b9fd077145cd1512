import type { RetentionPolicy } from '../lock-store.js';
import { PASSED_OVER_MS, prunableUpTo } from '../retention.js';
import type { SharedClock } from './shared-clock.js';
import type { WriteConnection } from './write-connection.js';
import type { WriteStatements } from './write-statements.js';

/** Rows of each table that one step removes at the most: it must not hold up the groups behind it. */
const STEP_ROWS = 1000;

/** One step of pruning; true: there may be more to remove. */
export function pruneStep(
  connection: WriteConnection,
  clock: SharedClock,
  retryWindowMs: number,
  policy: RetentionPolicy,
): boolean {
  const { removedEvents, removedLocks, removedWaiters } = connection.transaction(
    (statements) => removeOldest(statements, clock, retryWindowMs, policy),
    (removed) => removed.removedEvents + removed.removedLocks + removed.removedWaiters > 0,
  );
  return [removedEvents, removedLocks, removedWaiters].includes(STEP_ROWS);
}

function removeOldest(statements: WriteStatements, clock: SharedClock, retryWindowMs: number, policy: RetentionPolicy) {
  const { revision, oldestRevision, at } = statements.head();
  const now = clock.nowNotBefore(at);
  const events = statements.oldestEvents(STEP_ROWS);
  // Above the oldest revision there is no gap. What a restore left below it is no part of this history: it goes first.
  const excess = Number(revision - oldestRevision) - policy.eventRows;
  const upTo = prunableUpTo({ events, oldestRevision, excess }, policy.eventAgeMs, retryWindowMs, now);
  return {
    removedEvents: upTo === null ? 0 : statements.deleteEventsUpTo(upTo),
    removedLocks: statements.locks.deleteExpired(now - policy.expiredLockAgeMs, STEP_ROWS),
    removedWaiters: statements.lines.deleteWaitersUntil(now - PASSED_OVER_MS, STEP_ROWS),
  };
}
