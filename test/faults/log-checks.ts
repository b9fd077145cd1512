import { expect } from 'vitest';
import type { Answer, EventView, LockApi, LockView } from './lock-api.js';

/** A change that the server acknowledged to somebody. */
export interface Acknowledged {
  readonly type: 'ACQUIRED' | 'RENEWED' | 'RELEASED';
  readonly resource: string;
  readonly owner: string;
  readonly revision: string;
  readonly fencingToken: string;
}

const TYPE_OF_ANSWER = { LockAcquired: 'ACQUIRED', LockRenewed: 'RENEWED', LockReleased: 'RELEASED' } as const;

/** What the answer acknowledges; null where it says that nothing was changed. */
export function acknowledgedBy(answer: Answer, resource: string, owner: string): Acknowledged | null {
  const { __typename: typename } = answer;
  if (typename === 'Conflict' || typename === 'NotFound' || typename === 'Forbidden') return null;
  const { revision = '', fencingToken = '' } = answer.lock ?? answer;
  return { type: TYPE_OF_ANSWER[typename], resource, owner, revision, fencingToken };
}

/** Every acknowledged change is in the log as it was acknowledged, and none of them twice. */
export function expectAllInLog(acknowledged: readonly Acknowledged[], log: readonly EventView[]): void {
  const byRevision = new Map(log.map((event) => [event.revision, event]));
  const logged = acknowledged.map(({ revision }) => {
    const { type, resource, owner, fencingToken } = byRevision.get(revision) ?? {};
    return { type, resource, owner, revision, fencingToken };
  });
  expect(logged).toEqual(acknowledged);
  expect(new Set(acknowledged.map(({ revision }) => revision)).size).toBe(acknowledged.length);
}

/** The revisions of the whole log go up by one from the first on, and no event contradicts those before it. */
export function expectOneHistory(log: readonly EventView[]): void {
  expect(log.map(({ revision }) => revision)).toEqual(log.map((_, index) => String(index + 1)));
  expectNoContradiction(log);
}

/** Each event belongs to the acquisition that its token numbers and that has not ended; what expires does so when it was to. */
export function expectNoContradiction(log: readonly EventView[]): void {
  const current = new Map<string, EventView>();
  const contradictions = log.filter((event) => {
    const { type, resource, owner, fencingToken, at, expiresAt } = event;
    if (type === 'ACQUIRED') current.set(fencingToken, event);
    const acquired = current.get(fencingToken);
    if (type === 'RELEASED' || type === 'EXPIRED') current.delete(fencingToken);
    const isOfAcquisition = acquired?.revision === fencingToken && acquired.resource === resource && acquired.owner === owner;
    return !isOfAcquisition || (type === 'EXPIRED' && at !== expiresAt);
  });
  expect(contradictions).toEqual([]);
}

/** What is held after these events, by name. */
export function fold(log: readonly EventView[]): LockView[] {
  const held = new Map<string, LockView>();
  for (const { resource, lock } of log) {
    if (lock === null) held.delete(resource);
    else held.set(resource, lock);
  }
  return [...held.values()].sort((one, other) => (one.resource < other.resource ? -1 : 1));
}

/**
 * The locks that the API lists are those that the log leaves. A lock that expires while the two are read is in one of them
 * only, until its expiry is recorded: so they may take a moment to agree.
 */
export async function expectLocksToFollowFromLog(api: LockApi, filter: object = {}): Promise<void> {
  const read = async () => ({ held: fold(await api.events(filter)), listed: await api.locks(filter) });
  await expect
    .poll(
      async () => {
        const { held, listed } = await read();
        return JSON.stringify(held) === JSON.stringify(listed) ? 'the same' : { held, listed };
      },
      { timeout: 5_000 },
    )
    .toBe('the same');
}

/** An event in a word that tests can compare. */
export function brief({ type, resource, owner }: EventView): string {
  return `${type} ${resource} ${owner}`;
}
