import type { LockEvent } from '../../locks/events.js';
import type { Lock } from '../../locks/lock.js';

/** What a later time would make of a decision. */
export interface LaterTime {
  /** By so much later, in milliseconds, the commands would have been decided in the same way. */
  readonly upToMs: number;
  /** Whether the `expiresAt` of each event would be later, too. */
  readonly movesExpiry: readonly boolean[];
}

/**
 * The log may have come to a later time than that of a decision when its turn comes. Mostly that changes nothing but the times.
 *
 * @param rows what was there before the group
 */
export function laterTime(events: readonly LockEvent[], rows: ReadonlyMap<string, Lock>, now: number): LaterTime {
  let upToMs = Infinity;
  // A lock that is held must not be found expired.
  for (const { expiresAt } of rows.values()) if (expiresAt > now) upToMs = Math.min(upToMs, expiresAt - now - 1);
  const expiries = new Map<string, { readonly at: number; readonly moves: boolean }>();
  const movesExpiry = events.map(({ type, resource, expiresAt }) => {
    const before = expiries.get(resource) ?? { at: rows.get(resource)?.expiresAt, moves: false };
    const isKept = type === 'RENEWED' && expiresAt === before.at;
    // It was renewed for less than it has left: how much later that would still be so, the event does not say.
    if (isKept) upToMs = 0;
    const moves = type === 'ACQUIRED' || (type === 'RENEWED' && !isKept) || (type === 'RELEASED' && before.moves);
    expiries.set(resource, { at: expiresAt, moves });
    return moves;
  });
  return { upToMs, movesExpiry };
}
