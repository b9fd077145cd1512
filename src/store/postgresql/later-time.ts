import type { LockEvent } from '../../locks/events.js';
import type { Lock } from '../../locks/lock.js';

/** No decision is of use for so long. */
const MAX_MS = 60_000;

/** What a later time would make of a decision. */
export interface LaterTime {
  /** By so much later, in milliseconds, the commands would have been decided in the same way. */
  readonly upToMs: number;
  /** For so long all locks that were held before are held, in milliseconds. */
  readonly heldForMs: number;
  /** Whether the `expiresAt` of each event would be later, too. */
  readonly movesExpiry: readonly boolean[];
}

/**
 * The log may have come to a later time than that of a decision when its turn comes. Mostly that changes nothing but the times.
 *
 * @param rows what was there before the group
 */
export function laterTime(events: readonly LockEvent[], rows: ReadonlyMap<string, Lock>, now: number): LaterTime {
  let heldForMs = MAX_MS;
  for (const { expiresAt } of rows.values()) if (expiresAt > now) heldForMs = Math.min(heldForMs, expiresAt - now - 1);
  let upToMs = heldForMs;
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
  return { upToMs, heldForMs, movesExpiry };
}
