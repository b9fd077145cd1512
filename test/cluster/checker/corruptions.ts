import { resourcesOf } from '../../../src/locks/commands.js';
import type { SeededRandom } from '../random.js';
import { isRecognisedAgain, type Call, type Change, type GroupCall, type GroupTold, type LockSeen, type Told } from './history.js';
import type { SimulatedHistory } from './simulated-history.js';

/** Larger than any number of a simulated log. */
const FAR = 1_000_000n;

/** Turns the answer of a call into one that can't be true; null: not of this call. */
type Corruption = (call: Call, history: SimulatedHistory, random: SeededRandom) => Told | null;

/** Ways to spoil one answer. Each makes it false wherever the call is placed: a change that might leave it true is not made. */
export const CORRUPTIONS: Readonly<Record<string, Corruption>> = {
  'another token': (call) => withLock(call, (lock) => ({ ...lock, fencingToken: lock.fencingToken + FAR })),
  'another revision': (call) => withLock(call, (lock) => ({ ...lock, revision: lock.revision + FAR })),
  'another expiry': (call, _history, random) =>
    withLock(call, (lock) => ({ ...lock, expiresAt: lock.expiresAt + random.anyOf([-1, 1]) })),
  'another moment of acquisition': (call, _history, random) =>
    withLock(call, (lock) => ({ ...lock, acquiredAt: lock.acquiredAt + random.anyOf([-1, 1]) })),
  'another owner': (call) => withLock(call, (lock) => ({ ...lock, owner: `${lock.owner}'s neighbour` })),
  "another request's lock": (call) => withLock(call, (lock) => ({ ...lock, metadata: '"another request"' })),
  'the opposite of reacquired': ({ told }) => (told.kind === 'acquired' ? { ...told, reacquired: !told.reacquired } : null),
  'another release': ({ told }) => (told.kind === 'released' ? { ...told, revision: told.revision + FAR } : null),
  'a release of another token': ({ told }) =>
    told.kind === 'released' ? { ...told, fencingToken: told.fencingToken + FAR } : null,
  'another moment of release': ({ told }) => (told.kind === 'released' ? { ...told, releasedAt: told.releasedAt + 1 } : null),
  'a grant in place of a refusal': ({ question, told }) => {
    if (question.kind !== 'acquire' || told.kind !== 'conflict' || told.current === null) return null;
    // It was refused for what its own first try, whose answer was lost, had acquired.
    if (told.current.metadata === question.metadata) return null;
    return { kind: 'acquired', lock: { ...told.current, owner: question.owner, metadata: question.metadata }, reacquired: false };
  },
  'a renewal in place of a refusal': ({ question, told }) => {
    if (question.kind !== 'renew' || told.kind !== 'conflict' || told.current === null) return null;
    return { kind: 'renewed', lock: { ...told.current, revision: told.current.revision + FAR } };
  },
  'a refusal by its own lock': ({ told }) =>
    told.kind === 'acquired' ? { kind: 'conflict', reason: 'HELD_BY_ANOTHER', current: told.lock } : null,
  'a refusal for another reason': ({ told }) => {
    if (told.kind !== 'conflict' || told.current === null || told.reason === 'REQUEST_SPENT') return null;
    return { ...told, reason: told.reason === 'HELD_BY_ANOTHER' ? 'STALE_TOKEN' : 'HELD_BY_ANOTHER' };
  },
  'a wait that was over before its time': ({ question, told, span }) => {
    if (question.kind !== 'acquire' || question.wait?.waitMs == null || told.kind === 'unknown') return null;
    if (span.to - span.from > question.wait.waitMs - 2) return null;
    return { kind: 'conflict', reason: 'WAIT_TIMEOUT', current: told.kind === 'acquired' ? told.lock : null };
  },
  'a refusal at once of one who waits': ({ question, told }) => {
    if (question.kind !== 'acquire' || question.wait === null || told.kind !== 'conflict') return null;
    return told.reason === 'WAIT_TIMEOUT' ? { ...told, reason: 'HELD_BY_ANOTHER' } : null;
  },
  'a lock that was gone before': (call, { calls, log }, random) => {
    if (call.told.kind !== 'seen') return null;
    const old = log.filter((change) => isOfResource(change, call) && isOverBefore(change, call, calls, log));
    return old.length > 0 ? { kind: 'seen', lock: seen(random.anyOf(old)) } : null;
  },
  'a lock that was still to come': (call, history, random) => {
    if (call.told.kind !== 'seen') return null;
    const coming = history.log.filter(
      (change) => isOfResource(change, call) && change.acquiredAt !== null && isMadeAfter(change, call, history),
    );
    return coming.length > 0 ? { kind: 'seen', lock: seen(random.anyOf(coming)) } : null;
  },
};

/** As {@link Corruption}, of a call about several locks. */
type GroupCorruption = (call: GroupCall, history: SimulatedHistory, random: SeededRandom) => GroupTold | null;

/** The same for an answer about several locks. */
export const GROUP_CORRUPTIONS: Readonly<Record<string, GroupCorruption>> = {
  'another token of one of several': (call, _history, random) =>
    withOne(call, random, (lock) => ({ ...lock, fencingToken: lock.fencingToken + FAR })),
  'another revision of one of several': (call, _history, random) =>
    withOne(call, random, (lock) => ({ ...lock, revision: lock.revision + FAR })),
  'another expiry of one of several': (call, _history, random) =>
    withOne(call, random, (lock) => ({ ...lock, expiresAt: lock.expiresAt + random.anyOf([-1, 1]) })),
  'a grant of what stood in the way': ({ question, told }) => {
    if (question.kind !== 'acquire-all' || told.kind !== 'refused-all') return null;
    if (told.blockedBy.size < question.resources.length) return null;
    if ([...told.blockedBy.values()].some(({ metadata }) => metadata === question.metadata)) return null;
    return { kind: 'acquired-all', locks: told.blockedBy };
  },
  'the loss of one that was renewed': ({ told }, history, random) => {
    if (told.kind !== 'renewed-all' || told.locks.size === 0 || mayBeAnothersDoing(history)) return null;
    const [resource] = random.anyOf([...told.locks]);
    const locks = new Map([...told.locks].filter(([name]) => name !== resource));
    return { ...told, locks, lost: [...told.lost, resource] };
  },
  'another release of one of several': ({ told }, _history, random) => {
    if (told.kind !== 'released-all' || told.released.size === 0) return null;
    const [resource, release] = random.anyOf([...told.released]);
    return { ...told, released: new Map([...told.released, [resource, { ...release, revision: release.revision + FAR }]]) };
  },
  'a refusal by what it was granted': ({ question, told }, history) =>
    told.kind === 'acquired-all' && !isRecognisedAgain(question) && !mayBeAnothersDoing(history)
      ? { kind: 'refused-all', reason: 'HELD_BY_ANOTHER', resource: [...told.locks.keys()][0] ?? '', blockedBy: told.locks }
      : null,
};

/** Whether a call without an answer may have made a change that is not told to anybody any more. */
function mayBeAnothersDoing({ calls, groups }: SimulatedHistory): boolean {
  return [...calls, ...groups].some(({ told }) => told.kind === 'unknown' || told.kind === 'not-done');
}

/** Changes one of the locks that the answer shows. */
function withOne({ told }: GroupCall, random: SeededRandom, change: (lock: LockSeen) => LockSeen): GroupTold | null {
  if (told.kind !== 'acquired-all' && told.kind !== 'renewed-all') return null;
  if (told.locks.size === 0) return null;
  const [resource, lock] = random.anyOf([...told.locks]);
  return { ...told, locks: new Map([...told.locks, [resource, change(lock)]]) };
}

/** Ways to spoil a log; null: this one offers nothing to spoil. */
export const LOG_CORRUPTIONS: Readonly<
  Record<string, (history: SimulatedHistory, random: SeededRandom) => SimulatedHistory | null>
> = {
  'one of several locks was never acquired': (history, random) => {
    const groups = history.groups.filter(({ told }) => told.kind === 'acquired-all' && told.locks.size > 1);
    if (groups.length === 0) return null;
    const { told } = random.anyOf(groups);
    const [lock] = told.kind === 'acquired-all' ? [...told.locks.values()] : [];
    const others = history.log.filter(({ fencingToken }) => fencingToken !== lock?.fencingToken);
    return { ...history, log: others.map((change, index) => ({ ...change, revision: BigInt(index + 1) })) };
  },
  'a newcomer got what somebody stood in line for': (history, random) => {
    const taken = history.calls.filter(({ question, told, wall }) => {
      if (question.kind !== 'acquire' || question.wait === null || question.requestId !== null || told.kind !== 'acquired')
        return false;
      return (
        !told.reacquired &&
        told.lock.acquiredAt - wall.from > 2 &&
        hasTimedOutAround(history, question.resource, told.lock.acquiredAt)
      );
    });
    if (taken.length === 0) return null;
    const newcomer = random.anyOf(taken);
    const { question } = newcomer;
    const calls = history.calls.map((call) =>
      call === newcomer && question.kind === 'acquire' ? { ...call, question: { ...question, wait: null } } : call,
    );
    return { ...history, calls };
  },
};

/** Whether somebody certainly stood in line at that moment, and got nothing. */
function hasTimedOutAround({ calls }: SimulatedHistory, resource: string, moment: number): boolean {
  return calls.some(({ question, told, wall }) => {
    if (question.kind !== 'acquire' || question.resource !== resource || question.wait?.waitMs == null) return false;
    if (told.kind !== 'conflict' || told.reason !== 'WAIT_TIMEOUT') return false;
    return wall.to - question.wait.waitMs + 1 <= moment && moment <= wall.from + question.wait.waitMs - 1;
  });
}

/** Changes the lock that the answer shows. */
function withLock({ told }: Call, change: (lock: LockSeen) => LockSeen): Told | null {
  if (told.kind === 'acquired' || told.kind === 'renewed') return { ...told, lock: change(told.lock) };
  if (told.kind === 'seen') return told.lock === null ? null : { ...told, lock: change(told.lock) };
  if (told.kind !== 'conflict' && told.kind !== 'forbidden') return null;
  return told.current === null ? null : { ...told, current: change(told.current) };
}

function seen({ owner, fencingToken, revision, acquiredAt, expiresAt, metadata }: Change): LockSeen {
  return { owner, fencingToken, revision, acquiredAt: acquiredAt ?? 0, expiresAt, metadata };
}

function isOfResource(change: Change, { question }: Call): boolean {
  return change.resource === question.resource;
}

/** Whether somebody had been told of the next change of that lock when the call was sent. */
function isOverBefore(change: Change, call: Call, calls: readonly Call[], log: readonly Change[]): boolean {
  if (change.acquiredAt === null) return false;
  const next = log.find(({ resource, revision }) => resource === change.resource && revision > change.revision);
  return next !== undefined && calls.some((other) => tells(other, next) && other.span.to < call.span.from);
}

/** Whether everybody who may have made the change had not been sent when the call was answered. */
function isMadeAfter(change: Change, call: Call, { calls, groups }: SimulatedHistory): boolean {
  const makers = [
    ...calls.filter(
      ({ question, told }) =>
        question.resource === change.resource && (told.kind === 'unknown' || tellsOf(told) === change.revision),
    ),
    ...groups.filter(
      ({ question, told }) =>
        resourcesOf(question).includes(change.resource) && (told.kind === 'unknown' || isToldOf(told, change)),
    ),
  ];
  return makers.length > 0 && makers.every(({ span }) => span.from > call.span.to);
}

function isToldOf(told: GroupTold, { resource, revision }: Change): boolean {
  return (told.kind === 'acquired-all' || told.kind === 'renewed-all') && told.locks.get(resource)?.revision === revision;
}

function tells({ told, question }: Call, change: Change): boolean {
  return question.kind !== 'read' && tellsOf(told) === change.revision;
}

function tellsOf(told: Told): bigint | null {
  if (told.kind === 'acquired' || told.kind === 'renewed') return told.lock.revision;
  return told.kind === 'released' ? told.revision : null;
}
