import type { LostCause } from '../../../src/engine/lost-cause.js';
import type { Arrival, Change, HoldCall, HoldTold, Tolerance, Violation } from './history.js';

/** What subscriptions that hold a lock were told out of order, or of a loss that the log does not tell. */
export function findFalseHold(holds: readonly HoldCall[], log: readonly Change[], { commandMs }: Tolerance): Violation | null {
  const byResource = new Map<string, Change[]>();
  for (const change of log) byResource.set(change.resource, [...(byResource.get(change.resource) ?? []), change]);
  for (const call of holds) {
    const { resource } = call.question;
    const disorder = findDisorder(call.question.fencingToken, call.updates);
    if (disorder !== null) return { problem: disorder, resource, call };
    for (const { told, wall } of call.updates) {
      if (told.kind !== 'lost') continue;
      const changes = (byResource.get(resource) ?? []).filter(({ at }) => at <= wall + commandMs);
      if (!isOver(told.cause, told.fencingToken, changes))
        return { problem: `told ${told.cause}, which is not in the log`, resource, call };
    }
  }
  return null;
}

function findDisorder(resumed: bigint | null, updates: readonly Arrival<HoldTold>[]): string | null {
  let token = resumed;
  for (const [index, { told }] of updates.entries()) {
    const isLast = index === updates.length - 1;
    if (told.kind === 'queued') {
      if (token !== null || told.position < 1) return 'told of a place in line where there is none';
    } else if (told.kind === 'conflict') {
      if (token !== null || !isLast) return 'refused though it held the lock';
    } else {
      const named = told.kind === 'lost' ? told.fencingToken : told.lock.fencingToken;
      if (told.kind === 'acquired' ? token !== null : token !== named) return 'told of another acquisition than its own';
      if (told.kind === 'lost' && !isLast) return 'told more after its loss';
      token = named;
    }
  }
  return null;
}

/**
 * Whether these changes say how it came to its end. Whether it has run out is known before the database says so. Who comes back when
 * the lock is nobody's any more is told that it was released, even if its own acquisition had been superseded before.
 */
function isOver(cause: LostCause, token: bigint, changes: readonly Change[]): boolean {
  if (cause === 'RELEASED') return changes.some(({ type, fencingToken }) => type === 'RELEASED' && fencingToken >= token);
  if (cause === 'SUPERSEDED') return changes.some(({ type, fencingToken }) => type === 'ACQUIRED' && fencingToken > token);
  return changes.some(({ type, fencingToken }) => type === 'ACQUIRED' && fencingToken === token);
}
