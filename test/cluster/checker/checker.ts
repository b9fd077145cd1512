import { findDivided } from './divided.js';
import { DoerSearch } from './doers.js';
import { findFalseHold } from './held.js';
import type { Call, Change, History, Tolerance, Violation } from './history.js';
import { linearize } from './linearize.js';
import { certainlyInLine, findOvertaking } from './overtaking.js';
import { partsOfGroup, partsOfHold } from './parts.js';
import { replay } from './replay.js';
import { Truth } from './truth.js';
import { UnaskedChanges } from './unasked.js';

/**
 * Whether the calls and the log are those of a fenced lock: all changes in the one order that the log tells, each of them
 * allowed after those before it and asked for by a call, and every answer true at some moment between its request and its
 * arrival. A call whose outcome is unknown may have made a change at any time after it was sent, or none.
 *
 * Whoever stands in line has its moment when it is granted. Nobody who came later is granted the lock before it; what it is granted
 * after it has gone is given back. Calls about several locks get all of them in one step, or none.
 *
 * @param log the whole log, in its order.
 * @returns what is wrong, or null.
 */
export function findViolation(history: History, log: readonly Change[], tolerance: Tolerance): Violation | null {
  const logViolation = findLogViolation(log);
  if (logViolation !== null) return logViolation;

  const { groups, holds } = history;
  const calls = [...history.calls, ...groups.flatMap(partsOfGroup), ...holds.flatMap(partsOfHold)].map(openEnded);
  const unasked = new UnaskedChanges(calls, holds, tolerance);
  const callsByResource = groupByResource(calls, ({ question }) => question.resource);
  const changesByResource = groupByResource(log, ({ resource }) => resource);
  const doers = new Map<bigint, Call>();
  for (const resource of new Set([...callsByResource.keys(), ...changesByResource.keys()])) {
    const ownCalls = callsByResource.get(resource) ?? [];
    const changes = changesByResource.get(resource) ?? [];
    const rows = replay(changes);
    if ('problem' in rows) return rows;
    const found = new DoerSearch(ownCalls, unasked, tolerance).find(changes, rows);
    if ('problem' in found) return found;
    const violation = linearize(ownCalls, changes, found, new Truth(changes, rows, found, ownCalls, tolerance));
    if (violation !== null) return violation;
    for (const [revision, call] of found.byRevision) doers.set(revision, call);
  }
  return (
    findDisorder(log, doers) ??
    findDivided(groups, log) ??
    findFalseHold(history, log, tolerance) ??
    findOvertaking(certainlyInLine(history), log, doers, firstSending(calls), tolerance)
  );
}

/**
 * Who is told that nothing was changed may have stood in line all the same: it could not be taken out of it. What it gets then is
 * given back.
 */
function openEnded(call: Call): Call {
  const { question, told, span, wall } = call;
  if (told.kind !== 'not-done' || question.kind !== 'acquire' || question.wait === null) return call;
  return { ...call, told: { kind: 'unknown' }, span: { ...span, to: Infinity }, wall: { ...wall, to: Infinity } };
}

/** When each request was sent for the first time; by the metadata, which its repetitions share. */
function firstSending(calls: readonly Call[]): (call: Call) => number {
  const first = new Map<string, number>();
  const keyOf = ({ question, id }: Call) => (question.kind === 'acquire' ? question.metadata : null) ?? `call ${id}`;
  for (const call of calls) first.set(keyOf(call), Math.min(first.get(keyOf(call)) ?? Infinity, call.wall.from));
  return (call) => first.get(keyOf(call)) ?? call.wall.from;
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
