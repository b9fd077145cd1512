import type { LockSelector } from '../store/lock-store.js';
import type { Change } from './watch.js';
import type { Watcher } from './watcher.js';

/**
 * Finds the watchers of an event without looking at the others: each stands under the narrowest thing that it asked for,
 * its resource, else its owner, else its prefix, of which no prefix is the empty one.
 */
export class WatcherIndex {
  readonly #watchers = new Map<string, Set<Watcher>>();
  /** How many of the prefixes that are watched have that length. */
  readonly #prefixLengths = new Map<number, number>();

  add(watcher: Watcher): void {
    const { selector } = watcher.request;
    const key = keyOf(selector);
    const alike = this.#watchers.get(key);
    if (alike !== undefined) {
      alike.add(watcher);
      return;
    }
    this.#watchers.set(key, new Set([watcher]));
    const length = prefixLength(selector);
    if (length !== null) this.#prefixLengths.set(length, (this.#prefixLengths.get(length) ?? 0) + 1);
  }

  remove(watcher: Watcher): void {
    const { selector } = watcher.request;
    const key = keyOf(selector);
    const alike = this.#watchers.get(key);
    if (alike?.delete(watcher) !== true || alike.size > 0) return;
    this.#watchers.delete(key);
    const length = prefixLength(selector);
    if (length === null) return;
    const prefixes = this.#prefixLengths.get(length) ?? 0;
    if (prefixes > 1) this.#prefixLengths.set(length, prefixes - 1);
    else this.#prefixLengths.delete(length);
  }

  /** Offers the change to every watcher that may have asked for it, and to no other of another name, owner or prefix. */
  offer(change: Change): void {
    const { event } = change;
    this.#offerTo(resourceKey(event.resource), change);
    this.#offerTo(ownerKey(event.owner), change);
    for (const length of this.#prefixLengths.keys()) {
      if (length <= event.resource.length) this.#offerTo(prefixKey(event.resource.slice(0, length)), change);
    }
  }

  #offerTo(key: string, change: Change): void {
    const watchers = this.#watchers.get(key);
    if (watchers !== undefined) for (const watcher of watchers) watcher.offer(change);
  }
}

const resourceKey = (resource: string) => `r${resource}`;
const ownerKey = (owner: string) => `o${owner}`;
const prefixKey = (prefix: string) => `p${prefix}`;

function keyOf({ resource, owner, prefix }: LockSelector): string {
  if (resource !== null) return resourceKey(resource);
  return owner === null ? prefixKey(prefix ?? '') : ownerKey(owner);
}

/** null: it does not stand under a prefix. */
function prefixLength({ resource, owner, prefix }: LockSelector): number | null {
  return resource === null && owner === null ? (prefix ?? '').length : null;
}
