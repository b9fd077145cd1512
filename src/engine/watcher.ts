import type { LockStore } from '../store/lock-store.js';
import type { LogReads } from './log-reads.js';
import { admits } from './selector.js';
import { FIRST_PART, SnapshotParts, type PartPlace, type SnapshotReads } from './snapshot-reads.js';
import type { ReadTurns } from './read-turns.js';
import type { Bookmark, Change, SnapshotReason, WatchItem, WatchRequest } from './watch.js';

/** Changes that are kept in memory for a watcher. One that falls further behind, by one large group even, reads the log at its own pace. */
const QUEUE_CHANGES = 1000;
/** The part of the bookmarks' time that is left to chance, so that those who wait for the same do not all get one at once. */
const BOOKMARK_JITTER = 0.25;

/** What a watcher knows of the feed. */
export interface WatcherFeed {
  readonly store: LockStore;
  readonly log: LogReads;
  readonly snapshots: SnapshotReads;
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

/** A stretch of the log that is being told. */
interface Page {
  /** What of it is still to be told, the last first. */
  readonly left: Change[];
  /** The revision up to which it is complete. */
  readonly through: bigint;
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
  readonly #turns: ReadTurns | null;
  #logId: string;
  /** Everything up to this revision has been told, or is none of what was asked for. */
  #position: bigint;
  #isLive = false;
  #queue: Change[] = [];
  /** What it reads while it is behind. */
  #reading: AsyncGenerator<WatchItem, void> | null;
  /** Why the next that it reads is a snapshot; null: it is the log. */
  #snapshotDue: SnapshotReason | null = null;
  /** Resolves the `next` that waits for a change. */
  #answer: ((result: Result | Promise<Result>) => void) | null = null;
  #bookmarkTimer: NodeJS.Timeout | null = null;
  #hasEnded = false;

  /** @param turns in which it reads, and keeps what it has read until the last of it was taken; null: whenever it likes. */
  constructor(feed: WatcherFeed, request: WatchRequest, turns: ReadTurns | null) {
    this.request = request;
    this.#feed = feed;
    this.#turns = turns;
    this.#logId = feed.logId;
    this.#position = feed.revision;
    this.#reading = this.#begin(feed.bookmark());
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * The next item. To be called again only when it has resolved.
   *
   * @throws what the store throws; then the watch has ended.
   */
  next(): Promise<Result> {
    if (this.#hasEnded) return Promise.resolve(END);
    const change = this.#queue.shift();
    if (change !== undefined) return Promise.resolve(this.#tell(change));
    if (!this.#isLive) return this.#read();
    // Of those who wait there are very many: one waits without a frame of its own on any stack.
    this.#bookmarkTimer = this.#bookmarkTimer?.refresh() ?? this.#startBookmarkTimer();
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
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
    if (this.#answer === null) this.#queue.push(change);
    else this.#answerWith(this.#tell(change));
  }

  /** From here on it reads the log by itself, until it has caught up. */
  fallBehind(): void {
    this.#isLive = false;
    this.#queue = [];
    if (this.#answer !== null) this.#answerWith(this.#read());
  }

  #end(): void {
    this.#hasEnded = true;
    this.#queue = [];
    this.#feed.remove(this);
    this.#turns?.leave(this);
    if (this.#bookmarkTimer !== null) clearTimeout(this.#bookmarkTimer);
    this.#answerWith(END);
  }

  #tell(change: Change): Result {
    this.#position = change.event.revision;
    return { done: false, value: change };
  }

  #answerWith(result: Result | Promise<Result>): void {
    const answer = this.#answer;
    this.#answer = null;
    answer?.(result);
  }

  /** The next item of what it reads, or what comes after that. */
  #read(): Promise<Result> {
    this.#reading ??= this.#snapshotDue === null ? this.#catchUp() : this.#snapshot(this.#snapshotDue);
    return this.#reading.next().then(
      (item) => {
        if (item.done === true) this.#reading = null;
        return item.done === true || this.#hasEnded ? this.next() : item;
      },
      (error: unknown) => {
        this.#end();
        throw error;
      },
    );
  }

  async *#begin(start: Bookmark): AsyncGenerator<WatchItem, void> {
    const { after, logId, snapshot } = this.request;
    if (after === null) {
      if (snapshot) this.#snapshotDue = 'STARTED';
      else yield start;
    } else {
      const head = await this.#feed.store.head();
      this.#logId = head.logId;
      this.#position = after;
      if ((logId !== null && logId !== head.logId) || after > head.revision) this.#snapshotDue = 'RESET';
    }
  }

  async *#catchUp(): AsyncGenerator<WatchItem, void> {
    while (!this.#isLive && !this.#hasEnded) {
      await this.#turns?.take(this);
      const page = await this.#readPage();
      if (typeof page === 'string') {
        this.#snapshotDue = page;
        return;
      }
      // Neither with a variable nor with yield*: either would hold on to what it has told, for as long as its reader takes.
      while (page.left.length > 0) yield this.#takeFrom(page.left);
      this.#turns?.leave(this);
      this.#position = page.through;
      // No await between the two: the feed can't move on in between.
      if (this.#position >= this.#feed.revision && this.#logId === this.#feed.logId) this.#isLive = true;
    }
  }

  async *#snapshot(reason: SnapshotReason): AsyncGenerator<WatchItem, void> {
    this.#snapshotDue = null;
    const parts = await this.#partsOf(reason);
    for (let place: PartPlace | null = FIRST_PART; place !== null; place = parts.next) {
      await this.#turns?.take(this);
      if (this.#hasEnded) return;
      yield await parts.read(place);
      // Asked for the next, its reader is done with this one.
      this.#turns?.leave(this);
    }
  }

  async #partsOf(reason: SnapshotReason): Promise<SnapshotParts> {
    const { store, snapshots } = this.#feed;
    const { logId, revision } = await store.head();
    this.#logId = logId;
    this.#position = revision;
    return new SnapshotParts(snapshots, { logId, revision, reason, selector: this.request.selector });
  }

  /** The next page of the log, or why there is none from here on. */
  async #readPage(): Promise<Page | SnapshotReason> {
    const page = await this.#feed.log.read(this.#position, this.request.selector);
    if (page.logId !== this.#logId) return 'RESET';
    if (page.oldestRevision > this.#position) return 'GAP';
    return { left: page.changes.filter(({ event }) => admits(this.request, event)).reverse(), through: page.through };
  }

  #takeFrom(left: Change[]): Change {
    const change = left.pop() as Change;
    this.#position = change.event.revision;
    return change;
  }

  #bookmark(): Bookmark {
    // It is live and its queue is empty: what the feed has told it knows. It may have read further than that.
    if (this.#feed.revision < this.#position) return { kind: 'bookmark', logId: this.#logId, revision: this.#position };
    this.#position = this.#feed.revision;
    return this.#feed.bookmark();
  }

  #startBookmarkTimer(): NodeJS.Timeout {
    const due = () => {
      if (this.#answer !== null) this.#answerWith({ done: false, value: this.#bookmark() });
    };
    return setTimeout(due, this.#feed.bookmarkMs * (1 - BOOKMARK_JITTER * Math.random()));
  }
}
