import type { ConflictReason } from '../locks/outcomes.js';
import { MAX_INT } from './int.js';

/** The most that is added at random: enough to spread callers out, and little against the wait. */
const MAX_JITTER_MS = 1000;
const JITTER_SHARE = 0.1;

/** When a lock that nobody holds is kept for those who stand in line for it, nobody knows for how long. */
const UNTIL_NEXT_TURN_MS = 1000;

/**
 * When to try again, in milliseconds from now: a little after the lock in the way expires at the latest. null where the same
 * request is refused then, too.
 *
 * @param remainingMs how long the lock in the way lasts; null: nobody holds it
 */
export function retryAfterMs(reason: ConflictReason, remainingMs: number | null, random = Math.random): number | null {
  switch (reason) {
    case 'HELD_BY_ANOTHER':
    case 'HELD_BY_SELF':
    case 'WAIT_TIMEOUT':
    case 'DEADLOCK': {
      const untilFreeMs = remainingMs ?? UNTIL_NEXT_TURN_MS;
      const jitter = random() * Math.min(MAX_JITTER_MS, 50 + untilFreeMs * JITTER_SHARE);
      return Math.min(Math.ceil(untilFreeMs + jitter), MAX_INT);
    }
    case 'EXPIRED':
    case 'STALE_TOKEN':
    case 'REQUEST_SPENT':
      return null;
  }
}
