import type { SeededRandom } from '../random.js';
import type { Call, Change, LockSeen, Told } from './history.js';
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
  'a lock that was gone before': (call, { calls, log }, random) => {
    if (call.told.kind !== 'seen') return null;
    const old = log.filter((change) => isOfResource(change, call) && isOverBefore(change, call, calls, log));
    return old.length > 0 ? { kind: 'seen', lock: seen(random.anyOf(old)) } : null;
  },
  'a lock that was still to come': (call, { calls, log }, random) => {
    if (call.told.kind !== 'seen') return null;
    const coming = log.filter(
      (change) => isOfResource(change, call) && change.acquiredAt !== null && isMadeAfter(change, call, calls),
    );
    return coming.length > 0 ? { kind: 'seen', lock: seen(random.anyOf(coming)) } : null;
  },
};

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
function isMadeAfter(change: Change, call: Call, calls: readonly Call[]): boolean {
  const makers = calls.filter(
    ({ question, told }) => question.resource === change.resource && (told.kind === 'unknown' || tellsOf(told) === change.revision),
  );
  return makers.length > 0 && makers.every(({ span }) => span.from > call.span.to);
}

function tells({ told, question }: Call, change: Change): boolean {
  return question.kind !== 'read' && tellsOf(told) === change.revision;
}

function tellsOf(told: Told): bigint | null {
  if (told.kind === 'acquired' || told.kind === 'renewed') return told.lock.revision;
  return told.kind === 'released' ? told.revision : null;
}
