import { resourcesOf, type AcquireAllCommand } from '../../../src/locks/commands.js';
import type { ByName, Change, GroupCall, LockSeen, Violation } from './history.js';

/** What calls about several locks did not do, or did not see, all at once. */
export function findDivided(groups: readonly GroupCall[], log: readonly Change[]): Violation | null {
  const acquisitions = new Map<string, Change[]>();
  const next = nextRevisions(log);
  for (const change of log) {
    if (change.type !== 'ACQUIRED' || change.metadata === null) continue;
    acquisitions.set(change.metadata, [...(acquisitions.get(change.metadata) ?? []), change]);
  }
  for (const call of groups) {
    const { question, told } = call;
    if (question.kind === 'acquire-all') {
      const changes = acquisitions.get(question.metadata ?? '') ?? [];
      if (!areAllAtOnce(changes, question)) return violation('some of several locks were acquired', call, changes[0]);
    }
    if (told.kind === 'acquired-all' || told.kind === 'renewed-all') {
      if (!areConsecutive(asAsked(told.locks, call)))
        return violation('locks were not changed together that were told to be', call);
    }
    if (told.kind === 'refused-all' && !wereHeldTogether(told.blockedBy, next)) {
      return violation('locks are said to stand in the way that were never held at one moment', call);
    }
  }
  return null;
}

/** Whether each time that the request acquired something, which may be more than once where it is not recognised, it acquired all of it. */
function areAllAtOnce(changes: readonly Change[], { resources }: AcquireAllCommand): boolean {
  if (changes.length % resources.length !== 0) return false;
  return changes.every(({ resource, revision, at }, index) => {
    const place = index % resources.length;
    const first = changes[index - place];
    return resource === resources[place] && revision === (first?.revision ?? 0n) + BigInt(place) && at === first?.at;
  });
}

/** The revisions told, in the order of what was asked for. */
function asAsked(locks: ByName<LockSeen>, { question }: GroupCall): bigint[] {
  const revisions = resourcesOf(question)
    .flatMap((name) => locks.get(name) ?? [])
    .map(({ revision, fencingToken }) => ({ revision, fencingToken }));
  // What a repeated acquire tells may have been renewed since, each at its own moment; the tokens tell when it was acquired.
  return revisions.map(({ revision, fencingToken }) => (question.kind === 'acquire-all' ? fencingToken : revision));
}

function areConsecutive(revisions: readonly bigint[]): boolean {
  return revisions.every((revision, index) => index === 0 || revision === (revisions[index - 1] ?? 0n) + 1n);
}

function wereHeldTogether(locks: ByName<LockSeen>, next: ReadonlyMap<bigint, bigint>): boolean {
  let from = 0n;
  let to: bigint | null = null;
  for (const { revision } of locks.values()) {
    const end = next.get(revision);
    if (revision > from) from = revision;
    if (end !== undefined && (to === null || end < to)) to = end;
  }
  return to === null || from < to;
}

/** For each revision that of the next change of the same lock. */
function nextRevisions(log: readonly Change[]): Map<bigint, bigint> {
  const next = new Map<bigint, bigint>();
  const last = new Map<string, bigint>();
  for (const { resource, revision } of log) {
    const before = last.get(resource);
    if (before !== undefined) next.set(before, revision);
    last.set(resource, revision);
  }
  return next;
}

function violation(problem: string, call: GroupCall, change?: Change): Violation {
  const { question } = call;
  const [resource = ''] = resourcesOf(question);
  return { problem, resource, call, ...(change && { change }) };
}
