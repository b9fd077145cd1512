import type { ConflictReason } from '../locks/outcomes.js';
import { MAX_INT } from './int.js';

/** The most that is added at random: enough to spread callers out, and little against the wait. */
const MAX_JITTER_MS = 1000;
const JITTER_SHARE = 0.1;

/**
 * When to try again, in milliseconds from now: a little after the lock in the way expires at the latest. null where the same
 * request is refused then, too.
 */
export function retryAfterMs(reason: ConflictReason, remainingMs: number, random = Math.random): number | null {
  switch (reason) {
    case 'HELD_BY_ANOTHER':
    case 'HELD_BY_SELF': {
      const jitter = random() * Math.min(MAX_JITTER_MS, 50 + remainingMs * JITTER_SHARE);
      return Math.min(Math.ceil(remainingMs + jitter), MAX_INT);
    }
    case 'EXPIRED':
    case 'STALE_TOKEN':
    case 'REQUEST_SPENT':
      return null;
  }
}
