import type { LostCause } from '../../../src/engine/lost-cause.js';
import type { Arrival, Change, History, HoldCall, HoldTold, Outage, Tolerance, Violation } from './history.js';

/** What subscriptions that hold a lock were told out of order, or of a loss that the log does not tell. */
export function findFalseHold(
  { holds, outages }: Pick<History, 'holds' | 'outages'>,
  log: readonly Change[],
  { commandMs }: Tolerance,
): Violation | null {
  const byResource = new Map<string, Change[]>();
  for (const change of log) byResource.set(change.resource, [...(byResource.get(change.resource) ?? []), change]);
  for (const call of holds) {
    const { resource, fencingToken } = call.question;
    const disorder = findDisorder(fencingToken, call.updates);
    if (disorder !== null) return { problem: disorder, resource, call };
    const last = call.updates.at(-1);
    if (last?.told.kind !== 'lost') continue;
    const { cause, fencingToken: token } = last.told;
    const until = last.wall + commandMs;
    const changes = (byResource.get(resource) ?? []).filter((change) => change.at <= until && change.fencingToken >= token);
    const isTrue = isTold(cause, token, changes) || (cause === 'EXPIRED' && lastExpiryOf(call) <= until);
    if (!isTrue && !(isCutOff(call, outages) && mayBeGuessed(cause, token, changes)))
      return { problem: `told ${cause}, which is not in the log`, resource, call };
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

/** @param changes of that acquisition and of later ones */
function isTold(cause: LostCause, token: bigint, changes: readonly Change[]): boolean {
  // It goes on until it expires.
  if (cause === 'SHUTDOWN') return changes.some(({ fencingToken }) => fencingToken === token);
  const end = changes.find(({ type, fencingToken }) => fencingToken > token || type === 'RELEASED' || type === 'EXPIRED');
  if (end === undefined) return false;
  return cause === (end.fencingToken > token ? 'SUPERSEDED' : end.type);
}

/** When it has run out as far as its subscription knows, which then goes by that, whatever the log tells later. */
function lastExpiryOf({ updates }: HoldCall): number {
  return updates.reduce((last, { told }) => ('lock' in told ? told.lock.expiresAt : last), Infinity);
}

/** Whether its server may have been unable to read the log, after the last that it told of the lock. */
function isCutOff({ server, updates, wall }: HoldCall, outages: readonly Outage[]): boolean {
  const to = updates.at(-1)?.wall ?? wall.to;
  const from = updates.at(-2)?.wall ?? wall.from;
  return outages.some((outage) => (outage.server === null || outage.server === server) && outage.from <= to && outage.to >= from);
}

/** Whether the refusal of a renewal may look so: it tells of what is there by then, maybe of a later acquisition. */
function mayBeGuessed(cause: LostCause, token: bigint, changes: readonly Change[]): boolean {
  if (cause === 'RELEASED') return changes.some(({ type }) => type === 'RELEASED');
  return changes.some(({ fencingToken }) => (cause === 'SUPERSEDED' ? fencingToken > token : fencingToken === token));
}
