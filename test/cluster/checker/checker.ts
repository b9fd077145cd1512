import { DoerSearch } from './doers.js';
import type { Call, Change, Tolerance, Violation } from './history.js';
import { linearize } from './linearize.js';
import { replay } from './replay.js';
import { Truth } from './truth.js';

/**
 * Whether the calls and the log are those of a fenced lock: all changes in the one order that the log tells, each of them
 * allowed after those before it and asked for by a call, and every answer true at some moment between its request and its
 * arrival. A call whose outcome is unknown may have made a change at any time after it was sent, or none.
 *
 * @param log the whole log, in its order.
 * @returns what is wrong, or null.
 */
export function findViolation(calls: readonly Call[], log: readonly Change[], tolerance: Tolerance): Violation | null {
  const logViolation = findLogViolation(log);
  if (logViolation !== null) return logViolation;

  const callsByResource = groupByResource(calls, ({ question }) => question.resource);
  const changesByResource = groupByResource(log, ({ resource }) => resource);
  const doers = new Map<bigint, Call>();
  for (const resource of new Set([...callsByResource.keys(), ...changesByResource.keys()])) {
    const ownCalls = callsByResource.get(resource) ?? [];
    const changes = changesByResource.get(resource) ?? [];
    const rows = replay(changes);
    if ('problem' in rows) return rows;
    const found = new DoerSearch(ownCalls, tolerance).find(changes, rows);
    if ('problem' in found) return found;
    const violation = linearize(ownCalls, changes, found, new Truth(changes, rows, found, tolerance));
    if (violation !== null) return violation;
    for (const [revision, call] of found.byRevision) doers.set(revision, call);
  }
  return findDisorder(log, doers);
}

/** Revisions without a gap, and a time that never runs backwards. */
function findLogViolation(log: readonly Change[]): Violation | null {
  let time = -Infinity;
  let last: Change | null = null;
  for (const change of log) {
    const { resource, revision, type, at } = change;
    if (last !== null && revision !== last.revision + 1n)
      return { problem: 'revisions that do not follow one another', resource, change };
    // An expiry is told with its own moment, which lies before the one at which it was recorded.
    if (type !== 'EXPIRED' && at < time) return { problem: 'time ran backwards', resource, change };
    time = Math.max(time, at);
    last = change;
  }
  return null;
}

/** Over all resources: no change is logged before one whose call had been answered when its own was sent. */
function findDisorder(log: readonly Change[], doers: ReadonlyMap<bigint, Call>): Violation | null {
  let earliest = -Infinity;
  for (const change of log) {
    const call = doers.get(change.revision);
    if (call === undefined) continue;
    earliest = Math.max(earliest, call.span.from);
    if (call.span.to < earliest)
      return { problem: 'logged after a change that was asked for later', resource: change.resource, change, call };
  }
  return null;
}

function groupByResource<T>(items: readonly T[], resourceOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const resource = resourceOf(item);
    const group = groups.get(resource);
    if (group === undefined) groups.set(resource, [item]);
    else group.push(item);
  }
  return groups;
}
