import type { LockEvent } from '../locks/events.js';
import type { CommittedGroup, LockSelector, LockStore, LogHead } from '../store/lock-store.js';
import { LogReads } from './log-reads.js';
import type { EngineObserver } from './observer.js';
import { SnapshotReads } from './snapshot-reads.js';
import type { ReadTurns } from './read-turns.js';
import type { Bookmark, WatchRequest } from './watch.js';
import { WatcherIndex } from './watcher-index.js';
import { Watcher, type WatcherFeed } from './watcher.js';

const ALL: LockSelector = { resource: null, prefix: null, owner: null };
const PAGE_EVENTS = 1000;
/** Whoever waits for an event gives up by then: the log can't be read. */
const REACH_MS = 2_000;

export interface GrantListener {
  granted(event: LockEvent): void;
  lost(): void;
}

/**
 * The log, as it grows: every event once, in revision order, to every watcher that asks for it. Groups of this
 * instance come straight from the writer; whatever is missing between them is read from the log.
 */
export class Feed implements WatcherFeed {
  readonly store: LockStore;
  readonly log: LogReads;
  readonly snapshots: SnapshotReads;
  readonly bookmarkMs: number;
  readonly #observer: EngineObserver;
  readonly #grants: GrantListener;
  #bookmark: Bookmark | null = null;
  #logId: string;
  #revision: bigint;
  readonly #watchers = new Set<Watcher>();
  readonly #index = new WatcherIndex();
  #catchingUp: Promise<void> | null = null;
  /** It was woken after the last page was asked for: that page may not show what it was woken for. */
  #isWoken = false;
  /** Until which revision who waits for it. */
  #awaited: { readonly revision: bigint; readonly resolve: () => void }[] = [];
  #isClosed = false;

  /** @param grants told of each event that was somebody's turn in line, and when the log does not go on where the feed stands */
  constructor(store: LockStore, head: LogHead, observer: EngineObserver, bookmarkMs: number, grants: GrantListener) {
    this.store = store;
    this.log = new LogReads(store);
    this.snapshots = new SnapshotReads(store);
    this.bookmarkMs = bookmarkMs;
    this.#observer = observer;
    this.#grants = grants;
    this.#logId = head.logId;
    this.#revision = head.revision;
  }

  get revision(): bigint {
    return this.#revision;
  }

  get logId(): string {
    return this.#logId;
  }

  bookmark(): Bookmark {
    if (this.#bookmark?.revision !== this.#revision || this.#bookmark.logId !== this.#logId) {
      this.#bookmark = { kind: 'bookmark', logId: this.#logId, revision: this.#revision };
    }
    return this.#bookmark;
  }

  /** Every change after this call reaches the watcher. */
  watch(request: WatchRequest, turns: ReadTurns | null): Watcher {
    const watcher = new Watcher(this, request, turns);
    this.#watchers.add(watcher);
    this.#index.add(watcher);
    this.#observer.watchers(this.#watchers.size);
    return watcher;
  }

  remove(watcher: Watcher): void {
    if (!this.#watchers.delete(watcher)) return;
    this.#index.remove(watcher);
    this.#observer.watchers(this.#watchers.size);
  }

  /** Takes a group that this instance committed. */
  publish({ logId, events }: CommittedGroup): void {
    const first = events[0];
    const last = events.at(-1);
    if (first === undefined || last === undefined) return;
    if (logId === this.#logId && first.revision === this.#revision + 1n) this.#deliver(events);
    else this.wake(last.revision);
  }

  /**
   * Reads what the log has beyond what was told. To be called whenever it may have grown.
   *
   * @param revision to which it has grown; left out: that is not known
   */
  wake(revision?: bigint): void {
    if (this.#isClosed || (revision !== undefined && revision <= this.#revision)) return;
    this.#isWoken = true;
    this.#catchingUp ??= this.#catchUp();
  }

  /** Resolves when every event up to this revision was told; after 2 seconds, or where none will be told any more, without that. */
  async reach(revision: bigint): Promise<void> {
    if (revision <= this.#revision || this.#isClosed) return;
    this.wake(revision);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, REACH_MS);
      const settle = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#awaited.push({ revision, resolve: settle });
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#settleAwaited();
    for (const watcher of [...this.#watchers]) await watcher.return();
    await this.#catchingUp;
  }

  async #catchUp(): Promise<void> {
    try {
      for (let isComplete = false; !isComplete || this.#isWoken;) {
        this.#isWoken = false;
        const page = await this.store.readLog(this.#revision, PAGE_EVENTS, ALL);
        if (page.logId !== this.#logId || page.oldestRevision > this.#revision) {
          this.#jumpTo(page);
          continue;
        }
        // While the page was read, the writer may have published some of it.
        this.#deliver(page.events.filter(({ revision }) => revision > this.#revision));
        isComplete = page.through >= page.revision;
      }
    } catch (error) {
      // The next wake-up tries again.
      this.#observer.failed(error);
    } finally {
      // No await after the last look at #isWoken: whoever wakes it from here on starts it anew.
      this.#catchingUp = null;
    }
  }

  /** The log does not go on where the feed stands. Each watcher finds out what that means for it when it reads the log. */
  #jumpTo({ logId, revision }: LogHead): void {
    this.#logId = logId;
    this.#revision = revision;
    for (const watcher of this.#watchers) watcher.fallBehind();
    this.#grants.lost();
    this.#settleAwaited();
  }

  #deliver(events: readonly LockEvent[]): void {
    for (const event of events) {
      this.#revision = event.revision;
      if (event.waiterId !== null) this.#grants.granted(event);
      this.#index.offer({ kind: 'event', event });
      this.#observer.published(Math.max(0, Date.now() - event.writtenAt));
    }
    if (this.#awaited.length > 0) this.#settleAwaited();
  }

  #settleAwaited(): void {
    const awaited = this.#awaited;
    this.#awaited = awaited.filter(({ revision }) => revision > this.#revision && !this.#isClosed);
    for (const { revision, resolve } of awaited) if (revision <= this.#revision || this.#isClosed) resolve();
  }
}
