import { LRUCache } from 'lru-cache';
import type { LockSelector, LockStore, LogHead } from '../store/lock-store.js';
import type { Change } from './watch.js';

/** Of one page. Some of it may be cut off, so that the next ones of all readers begin at the same place. */
const PAGE_EVENTS = 512;
/** Pages end with a multiple of this where they can. */
const STEP_REVISIONS = 256n;
/** Pages that are kept for those who come to the same place soon after. */
const KEPT_PAGES = 8;
const KEPT_MS = 1000;

/** A stretch of the log, as watchers are told it. */
export interface ChangePage extends LogHead {
  readonly changes: readonly Change[];
  /** The revision up to which the page is complete. Never above `revision`. */
  readonly through: bigint;
}

/**
 * The log, for watchers that have fallen behind. Those that ask the same from the same place share one read and its changes,
 * and those that started from different places soon come to the same ones.
 */
export class LogReads {
  readonly #store: LockStore;
  readonly #pages = new LRUCache<string, Promise<ChangePage>>({
    max: KEPT_PAGES,
    ttl: KEPT_MS,
    ttlAutopurge: true,
  });

  constructor(store: LockStore) {
    this.#store = store;
  }

  /** What came after that revision: maybe not all of it, and as of a moment ago. */
  read(after: bigint, selector: LockSelector): Promise<ChangePage> {
    const key = JSON.stringify([String(after), selector.resource, selector.prefix, selector.owner]);
    const known = this.#pages.get(key);
    if (known !== undefined) return known;
    const page = this.#read(after, selector);
    this.#pages.set(key, page);
    // A page that reaches the head says that there was nothing more; one that failed may be there the next time.
    const forget = () => {
      if (this.#pages.peek(key) === page) this.#pages.delete(key);
    };
    page.then(({ through, revision }) => {
      if (through === revision) forget();
    }, forget);
    return page;
  }

  async #read(after: bigint, selector: LockSelector): Promise<ChangePage> {
    const { events, ...page } = await this.#store.readLog(after, PAGE_EVENTS, selector);
    const changes = events.map((event): Change => ({ kind: 'event', event }));
    const end = page.through - (page.through % STEP_REVISIONS);
    if (changes.length < PAGE_EVENTS || end <= after) return { ...page, changes };
    return { ...page, changes: changes.filter(({ event }) => event.revision <= end), through: end };
  }
}
