import type { AcquireAllCommand, ReleaseAllCommand, RenewAllCommand } from '../../../src/locks/commands.js';
import type { Call, GroupCall, GroupTold, HoldCall, Question, Told } from './history.js';

/** The calls about one lock each that a call about several is made of. */
export function partsOfGroup(call: GroupCall): Call[] {
  const { question, told, ...rest } = call;
  switch (question.kind) {
    case 'acquire-all': {
      const { resources, ...command } = question;
      return resources.map((resource) => {
        return { ...rest, question: { ...command, kind: 'acquire', resource }, told: toldOfAcquire(question, resource, told) };
      });
    }
    case 'renew-all':
      return question.locks.map((lock) => {
        const { owner, ttlMs } = question;
        return { ...rest, question: { kind: 'renew', owner, ttlMs, ...lock }, told: toldOfRenewal(question, lock.resource, told) };
      });
    case 'release-all':
      return question.locks.map((lock) => {
        const { owner } = question;
        return { ...rest, question: { kind: 'release', owner, ...lock }, told: toldOfRelease(question, lock.resource, told) };
      });
  }
}

function toldOfAcquire({ kind, resources }: AcquireAllCommand, resource: string, told: GroupTold): Told {
  if (told.kind === 'unknown' || told.kind === 'not-done') return told;
  if (told.kind === 'acquired-all') {
    const lock = told.locks.get(resource);
    if (lock !== undefined && told.locks.size === resources.length) return { kind: 'acquired', lock, reacquired: null };
  }
  if (told.kind !== 'refused-all') throw new Error(`${told.kind} of ${kind}`);
  if (told.reason === 'REQUEST_SPENT') return told.resource === resource ? { kind: 'spent' } : { kind: 'not-done' };
  const lock = told.blockedBy.get(resource);
  return lock === undefined ? { kind: 'not-done' } : { kind: 'in-the-way', lock };
}

function toldOfRenewal({ kind }: RenewAllCommand, resource: string, told: GroupTold): Told {
  if (told.kind === 'unknown' || told.kind === 'not-done') return told;
  if (told.kind !== 'renewed-all') throw new Error(`${told.kind} of ${kind}`);
  const lock = told.locks.get(resource);
  return lock === undefined ? { kind: 'not-held' } : { kind: 'renewed', lock };
}

function toldOfRelease({ kind }: ReleaseAllCommand, resource: string, told: GroupTold): Told {
  if (told.kind === 'unknown' || told.kind === 'not-done') return told;
  if (told.kind !== 'released-all') throw new Error(`${told.kind} of ${kind}`);
  const release = told.released.get(resource);
  return release === undefined ? { kind: 'not-held' } : { kind: 'released', ...release };
}

/** The calls that a subscription that holds a lock is like: an acquire, if it does not go on with one, and renewals. */
export function partsOfHold({ id, client, server, question, updates, span, wall, end }: HoldCall): Call[] {
  const { resource, owner, ttlMs, waitMs, fencingToken, metadata } = question;
  const wait = waitMs === 0 ? null : { id: '', instance: '', waitMs, detectDeadlock: false };
  const acquire: Question = { kind: 'acquire', resource, owner, ttlMs, requestId: null, reacquire: true, metadata, wait };
  const calls: Call[] = [];
  const sent = { id, client, server };
  for (const { told, at, wall: wallAt } of updates) {
    const spans = { span: { from: span.from, to: at }, wall: { from: wall.from, to: wallAt } };
    if (told.kind === 'acquired' || told.kind === 'conflict') calls.push({ ...sent, question: acquire, told, ...spans });
    if (told.kind !== 'renewed') continue;
    const token = told.lock.fencingToken;
    calls.push({ ...sent, question: { kind: 'renew', resource, owner, fencingToken: token, ttlMs }, told, ...spans });
  }
  const isAnswered = calls.some((call) => call.question === acquire);
  if (fencingToken !== null || isAnswered) return calls;
  const endless = { span: { from: span.from, to: Infinity }, wall: { from: wall.from, to: Infinity } };
  return [{ ...sent, question: acquire, told: { kind: end === 'not-done' ? 'not-done' : 'unknown' }, ...endless }, ...calls];
}
