import type { NamedLock } from '../locks/commands.js';
import type { LockStore } from '../store/lock-store.js';

/** Which locks of an owner a call is about. */
export interface HeldLocks {
  readonly owner: string;
  /** null: all that it holds as the call comes. */
  readonly locks: readonly NamedLock[] | null;
  /** Only acquisitions whose token is at most this; null: whatever their token. */
  readonly upTo: bigint | null;
}

/** What is changed in one transaction at the most: others wait for it. */
const PAGE_LOCKS = 1000;

/** The locks that are meant, in pages. Those that are acquired meanwhile are none of them. */
export async function* ownedLocks(store: LockStore, { owner, locks, upTo }: HeldLocks): AsyncGenerator<readonly NamedLock[], void> {
  if (locks !== null) {
    yield locks;
    return;
  }
  const selector = { resource: null, prefix: null, owner };
  const { revision } = await store.head();
  const newest = upTo !== null && upTo < revision ? upTo : revision;
  for (let after: string | null = null; ;) {
    const page = await store.readLocks(selector, after, PAGE_LOCKS, await store.now());
    const meant = page.filter(({ fencingToken }) => fencingToken <= newest);
    if (meant.length > 0) yield meant.map(({ resource, fencingToken }) => ({ resource, fencingToken }));
    if (page.length < PAGE_LOCKS) return;
    after = page.at(-1)?.resource ?? null;
  }
}
