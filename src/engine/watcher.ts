import type { LockStore } from '../store/lock-store.js';
import type { LogReads } from './log-reads.js';
import { admits } from './selector.js';
import type { Bookmark, Change, SnapshotReason, WatchItem, WatchRequest } from './watch.js';

/** Changes that a watcher is kept in memory: what one group has. One that falls further behind reads the log at its own pace. */
const QUEUE_CHANGES = 1000;
const SNAPSHOT_PART_LOCKS = 500;
/** The part of the bookmarks' time that is left to chance, so that those who wait for the same do not all get one at once. */
const BOOKMARK_JITTER = 0.25;

/** What a watcher knows of the feed. */
export interface WatcherFeed {
  readonly store: LockStore;
  readonly log: LogReads;
  /** Which history it tells. */
  readonly logId: string;
  /** The revision up to which live watchers have been told everything. */
  readonly revision: bigint;
  /** After so long without an event a watcher gets a bookmark, at the latest. */
  readonly bookmarkMs: number;
  /** The bookmark of that revision: the same for all watchers. */
  bookmark(): Bookmark;
  /** Forgets a watcher that has ended. */
  remove(watcher: Watcher): void;
}

type Result = IteratorResult<WatchItem, undefined>;

const END: Result = { done: true, value: undefined };

/**
 * One reader of the log. It is either live, and then the feed offers it each new change, or behind, and then it reads the
 * log from its own position. It turns live in the very moment in which its position has reached the feed's, so that
 * nothing is lost and nothing comes twice.
 */
export class Watcher implements AsyncIterableIterator<WatchItem> {
  readonly request: WatchRequest;
  readonly #feed: WatcherFeed;
  #logId: string;
  /** Everything up to this revision has been told, or is none of what was asked for. */
  #position: bigint;
  #isLive = false;
  #queue: Change[] = [];
  /** What it reads while it is behind. */
  #reading: AsyncGenerator<WatchItem, void> | null;
  #wakeUp: ((isQuiet: boolean) => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #hasEnded = false;

  constructor(feed: WatcherFeed, request: WatchRequest) {
    this.request = request;
    this.#feed = feed;
    this.#logId = feed.logId;
    this.#position = feed.revision;
    this.#reading = this.#begin();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * The next item. To be called again when it has resolved.
   *
   * @throws what the store throws; then the watch has ended.
   */
  async next(): Promise<Result> {
    try {
      while (!this.#hasEnded) {
        const change = this.#queue.shift();
        if (change !== undefined) {
          this.#position = change.event.revision;
          return { done: false, value: change };
        }
        if (!this.#isLive) {
          const item = await this.#read();
          if (item !== null) return item;
        } else if (await this.#isQuiet()) {
          return { done: false, value: this.#bookmark() };
        }
      }
    } catch (error) {
      this.#end();
      throw error;
    }
    return END;
  }

  /** Ends the watch at once, also while a `next` waits. Resolves when nothing of it is read any more. */
  async return(): Promise<Result> {
    this.#end();
    await this.#reading?.return();
    return END;
  }

  /** Takes a new change from the feed, if it is live and asked for it. */
  offer(change: Change): void {
    const { event } = change;
    // When it turned live, it may have read further than the feed.
    if (!this.#isLive || event.revision <= this.#position || !admits(this.request, event)) return;
    if (this.#queue.length === QUEUE_CHANGES) {
      this.fallBehind();
      return;
    }
    this.#queue.push(change);
    this.#wake(false);
  }

  /** From here on it reads the log by itself, until it has caught up. */
  fallBehind(): void {
    this.#isLive = false;
    this.#queue = [];
    this.#wake(false);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#queue = [];
    this.#feed.remove(this);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#wake(false);
  }

  /** The next item of what it reads; null: it has caught up, or has ended. */
  async #read(): Promise<Result | null> {
    this.#reading ??= this.#catchUp();
    const item = await this.#reading.next();
    if (this.#hasEnded) return null;
    if (item.done !== true) return item;
    this.#reading = null;
    return null;
  }

  async *#begin(): AsyncGenerator<WatchItem, void> {
    const { after, logId, snapshot } = this.request;
    if (after === null) {
      if (snapshot) yield* this.#snapshot('STARTED');
      else yield { kind: 'bookmark', logId: this.#logId, revision: this.#position };
    } else {
      const head = await this.#feed.store.head();
      this.#logId = head.logId;
      this.#position = after;
      if ((logId !== null && logId !== head.logId) || after > head.revision) yield* this.#snapshot('RESET');
    }
    yield* this.#catchUp();
  }

  async *#catchUp(): AsyncGenerator<WatchItem, void> {
    while (!this.#isLive) yield* this.#replay();
  }

  async *#snapshot(reason: SnapshotReason): AsyncGenerator<WatchItem, void> {
    const { store } = this.#feed;
    const { logId, revision } = await store.head();
    this.#logId = logId;
    this.#position = revision;
    let after: string | null = null;
    for (let part = 1; ; part++) {
      const now = await store.now();
      const locks = await store.readLocks(this.request.selector, after, SNAPSHOT_PART_LOCKS, now);
      const complete = locks.length < SNAPSHOT_PART_LOCKS;
      yield { kind: 'snapshot', logId, revision, reason, part, complete, locks };
      if (complete) return;
      after = locks.at(-1)?.resource ?? after;
    }
  }

  async *#replay(): AsyncGenerator<WatchItem, void> {
    const page = await this.#feed.log.read(this.#position, this.request.selector);
    if (page.logId !== this.#logId) {
      yield* this.#snapshot('RESET');
      return;
    }
    if (page.oldestRevision > this.#position) {
      yield* this.#snapshot('GAP');
      return;
    }
    for (const change of page.changes) {
      if (!admits(this.request, change.event)) continue;
      this.#position = change.event.revision;
      yield change;
    }
    this.#position = page.through;
    // No await between the two: the feed can't move on in between.
    if (this.#position >= this.#feed.revision && this.#logId === this.#feed.logId) this.#isLive = true;
  }

  #bookmark(): Bookmark {
    // It is live and its queue is empty: what the feed has told it knows. It may have read further than that.
    if (this.#feed.revision < this.#position) return { kind: 'bookmark', logId: this.#logId, revision: this.#position };
    this.#position = this.#feed.revision;
    return this.#feed.bookmark();
  }

  /** Waits for a change; resolves to true if none came until a bookmark is due, and to false as soon as there is something to do. */
  #isQuiet(): Promise<boolean> {
    this.#timer =
      this.#timer?.refresh() ??
      setTimeout(() => this.#wake(true), this.#feed.bookmarkMs * (1 - BOOKMARK_JITTER * Math.random()));
    return new Promise((resolve) => {
      this.#wakeUp = resolve;
    });
  }

  #wake(isQuiet: boolean): void {
    const wakeUp = this.#wakeUp;
    this.#wakeUp = null;
    wakeUp?.(isQuiet);
  }
}
