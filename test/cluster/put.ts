import type { NamedLock, Wait } from '../../src/locks/commands.js';
import type { ConflictReason } from '../../src/locks/outcomes.js';
import type { Answer, GroupAnswer, LockApi, LockView, ReleaseView } from '../faults/lock-api.js';
import type { GroupTold, LockSeen, ReleaseSeen, Told } from './checker/history.js';
import type { AnyQuestion, AnyTold } from './questions.js';

/** Asks it, and tells the answer in the words of the history. Rejects as {@link LockApi}. */
export async function put(api: LockApi, question: AnyQuestion): Promise<AnyTold> {
  switch (question.kind) {
    case 'acquire': {
      const { resource, owner, ttlMs, requestId, reacquire, metadata, wait } = question;
      const rest = { ttlMs, requestId, reacquire, metadata: parsed(metadata), ...waitInput(wait) };
      return toTold(await api.acquire(resource, owner, rest));
    }
    case 'renew': {
      const { resource, owner, fencingToken, ttlMs } = question;
      return toTold(await api.renew(resource, owner, { ttlMs, fencingToken: tokenInput(fencingToken) }));
    }
    case 'release':
      return toTold(await api.release(question.resource, question.owner, tokenInput(question.fencingToken)));
    case 'read':
      return { kind: 'seen', lock: toLockSeen(await api.lock(question.resource)) };
    case 'acquire-all': {
      const { resources, owner, ttlMs, requestId, reacquire, metadata, wait } = question;
      const { waitMs } = waitInput(wait);
      const input = { resources, owner, ttlMs, requestId, reacquire, metadata: parsed(metadata), waitMs };
      return toGroupTold(await api.acquireAll(input));
    }
    case 'renew-all': {
      const { owner, ttlMs } = question;
      return toGroupTold(await api.renewAll({ owner, ttlMs, locks: lockInputs(question.locks) }));
    }
    case 'release-all':
      return toGroupTold(await api.releaseAll({ owner: question.owner, locks: lockInputs(question.locks) }));
  }
}

function waitInput(wait: Wait | null): { waitMs: number | null; detectDeadlock: boolean } {
  return { waitMs: wait?.waitMs ?? null, detectDeadlock: wait?.detectDeadlock ?? false };
}

function tokenInput(token: bigint | null): string | null {
  return token === null ? null : String(token);
}

function lockInputs(locks: readonly NamedLock[]): object[] {
  return locks.map(({ resource, fencingToken }) => ({ resource, fencingToken: tokenInput(fencingToken) }));
}

const parsed = (metadata: string | null): unknown => (metadata === null ? null : JSON.parse(metadata));

/** What an answer about one lock tells. */
export function toTold(answer: Answer): Told {
  const { __typename: typename, reacquired = false, reason } = answer;
  const lock = toLockSeen(answer.lock ?? null);
  const current = toLockSeen(answer.current ?? null);
  if (typename === 'LockAcquired' && lock !== null) return { kind: 'acquired', lock, reacquired };
  if (typename === 'LockRenewed' && lock !== null) return { kind: 'renewed', lock };
  if (typename === 'NotFound') return { kind: 'not-found' };
  if (typename === 'Forbidden') return { kind: 'forbidden', current };
  if (typename === 'Conflict') return { kind: 'conflict', reason: reason as ConflictReason, current };
  const { fencingToken, revision, releasedAt } = answer;
  if (fencingToken === undefined || revision === undefined || releasedAt === undefined) {
    throw new Error(`Not an answer: ${JSON.stringify(answer)}`);
  }
  return { kind: 'released', ...toReleaseSeen({ fencingToken, revision, releasedAt }) };
}

function toGroupTold(answer: GroupAnswer): GroupTold {
  const {
    __typename: typename,
    locks = [],
    lost = [],
    released = [],
    notHeld = [],
    blockedBy = [],
    reason,
    resource = '',
  } = answer;
  switch (typename) {
    case 'LocksAcquired':
      return { kind: 'acquired-all', locks: toLocksSeen(locks) };
    case 'LocksRenewed':
      return { kind: 'renewed-all', locks: toLocksSeen(locks), lost };
    case 'LocksReleased':
      return { kind: 'released-all', released: new Map(released.map((view) => [view.resource, toReleaseSeen(view)])), notHeld };
    case 'Conflict':
      return { kind: 'refused-all', reason: reason as ConflictReason, resource, blockedBy: toLocksSeen(blockedBy) };
  }
}

function toReleaseSeen({ fencingToken, revision, releasedAt }: Omit<ReleaseView, 'resource'>): ReleaseSeen {
  return { fencingToken: BigInt(fencingToken), revision: BigInt(revision), releasedAt: Date.parse(releasedAt) };
}

function toLocksSeen(views: readonly LockView[]): Map<string, LockSeen> {
  return new Map(views.map((view) => [view.resource, toLockSeen(view)]));
}

function toLockSeen(view: LockView): LockSeen;
function toLockSeen(view: LockView | null): LockSeen | null;
function toLockSeen(view: LockView | null): LockSeen | null {
  if (view === null) return null;
  return {
    owner: view.owner,
    fencingToken: BigInt(view.fencingToken),
    revision: BigInt(view.revision),
    acquiredAt: Date.parse(view.acquiredAt),
    expiresAt: Date.parse(view.expiresAt),
    metadata: view.metadata === null ? null : JSON.stringify(view.metadata),
  };
}
