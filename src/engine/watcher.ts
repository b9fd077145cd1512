import type { LockEvent } from '../locks/events.js';
import type { LockStore } from '../store/lock-store.js';
import { admits } from './selector.js';
import type { SnapshotReason, WatchItem, WatchRequest } from './watch.js';

/** Events that a watcher is kept in memory; one that falls further behind reads the log at its own pace. */
const QUEUE_EVENTS = 256;
const PAGE_EVENTS = 500;
const SNAPSHOT_PART_LOCKS = 500;

/** What a watcher knows of the feed. */
export interface WatcherFeed {
  /** Which history it tells. */
  readonly logId: string;
  /** The revision up to which live watchers have been told everything. */
  readonly revision: bigint;
  /** Forgets a watcher that has ended. */
  remove(watcher: Watcher): void;
}

/**
 * One reader of the log. It is either live, and then the feed offers it each new event, or behind, and then it reads the
 * log from its own position. It turns live in the very moment in which its position has reached the feed's, so that
 * nothing is lost and nothing comes twice.
 */
export class Watcher implements AsyncIterableIterator<WatchItem> {
  readonly request: WatchRequest;
  readonly #feed: WatcherFeed;
  readonly #store: LockStore;
  readonly #bookmarkMs: number;
  readonly #items: AsyncGenerator<WatchItem>;
  #logId: string;
  /** Everything up to this revision has been told, or is none of what was asked for. */
  #position: bigint;
  #isLive = false;
  #queue: LockEvent[] = [];
  #wakeUp: (() => void) | null = null;
  #hasEnded = false;

  constructor(feed: WatcherFeed, store: LockStore, request: WatchRequest, bookmarkMs: number) {
    this.request = request;
    this.#feed = feed;
    this.#store = store;
    this.#bookmarkMs = bookmarkMs;
    this.#logId = feed.logId;
    this.#position = feed.revision;
    this.#items = this.#run();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<WatchItem, undefined>> {
    return this.#items.next();
  }

  /** Ends the watch at once, also while a `next` waits. */
  async return(): Promise<IteratorResult<WatchItem, undefined>> {
    this.#hasEnded = true;
    this.#queue = [];
    this.#feed.remove(this);
    this.#wakeUp?.();
    return this.#items.return(undefined);
  }

  /** Takes a new event from the feed, if it is live and asked for it. */
  offer(event: LockEvent): void {
    // When it turned live, it may have read further than the feed.
    if (!this.#isLive || event.revision <= this.#position || !admits(this.request, event)) return;
    if (this.#queue.length === QUEUE_EVENTS) {
      this.fallBehind();
      return;
    }
    this.#queue.push(event);
    this.#wakeUp?.();
  }

  /** From here on it reads the log by itself, until it has caught up. */
  fallBehind(): void {
    this.#isLive = false;
    this.#queue = [];
    this.#wakeUp?.();
  }

  async *#run(): AsyncGenerator<WatchItem, undefined> {
    try {
      yield* this.#begin();
      while (!this.#hasEnded) {
        const event = this.#queue.shift();
        if (event !== undefined) {
          this.#position = event.revision;
          yield { kind: 'event', event };
        } else if (this.#isLive) {
          if (await this.#isQuiet()) yield this.#bookmark();
        } else {
          yield* this.#replay();
        }
      }
    } finally {
      this.#feed.remove(this);
    }
    return undefined;
  }

  async *#begin(): AsyncGenerator<WatchItem> {
    const { after, logId, snapshot } = this.request;
    if (after === null) {
      if (snapshot) yield* this.#snapshot('STARTED');
      else yield { kind: 'bookmark', logId: this.#logId, revision: this.#position };
      return;
    }
    const head = await this.#store.head();
    this.#logId = head.logId;
    this.#position = after;
    if ((logId !== null && logId !== head.logId) || after > head.revision) yield* this.#snapshot('RESET');
  }

  async *#snapshot(reason: SnapshotReason): AsyncGenerator<WatchItem> {
    const { logId, revision } = await this.#store.head();
    this.#logId = logId;
    this.#position = revision;
    let after: string | null = null;
    for (let part = 1; ; part++) {
      const now = await this.#store.now();
      const locks = await this.#store.readLocks(this.request.selector, after, SNAPSHOT_PART_LOCKS, now);
      const complete = locks.length < SNAPSHOT_PART_LOCKS;
      yield { kind: 'snapshot', logId, revision, reason, part, complete, locks };
      if (complete) return;
      after = locks.at(-1)?.resource ?? after;
    }
  }

  async *#replay(): AsyncGenerator<WatchItem> {
    const page = await this.#store.readLog(this.#position, PAGE_EVENTS, this.request.selector);
    if (page.logId !== this.#logId) {
      yield* this.#snapshot('RESET');
      return;
    }
    if (page.oldestRevision > this.#position) {
      yield* this.#snapshot('GAP');
      return;
    }
    for (const event of page.events) {
      if (!admits(this.request, event)) continue;
      this.#position = event.revision;
      yield { kind: 'event', event };
    }
    this.#position = page.through;
    // No await between the two: the feed can't move on in between.
    if (this.#position >= this.#feed.revision && this.#logId === this.#feed.logId) this.#isLive = true;
  }

  #bookmark(): WatchItem {
    // It is live and its queue is empty: what the feed has told it knows. It may have read further than that.
    if (this.#feed.revision > this.#position) this.#position = this.#feed.revision;
    return { kind: 'bookmark', logId: this.#logId, revision: this.#position };
  }

  /** Waits for an event; resolves to true if none came until a bookmark is due, and to false as soon as there is something to do. */
  #isQuiet(): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (isQuiet: boolean) => {
        clearTimeout(timer);
        this.#wakeUp = null;
        resolve(isQuiet);
      };
      const timer = setTimeout(() => {
        settle(true);
      }, this.#bookmarkMs);
      this.#wakeUp = () => {
        settle(false);
      };
    });
  }
}
