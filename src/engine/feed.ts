import type { LockEvent } from '../locks/events.js';
import type { CommittedGroup, LockSelector, LockStore, LogHead } from '../store/lock-store.js';
import type { EngineObserver } from './observer.js';
import type { WatchRequest } from './watch.js';
import { Watcher, type WatcherFeed } from './watcher.js';

const ALL: LockSelector = { resource: null, prefix: null, owner: null };
const PAGE_EVENTS = 1000;

/**
 * The log, as it grows: every event once, in revision order, to every watcher that asks for it. Groups of this
 * instance come straight from the writer; whatever is missing between them is read from the log.
 */
export class Feed implements WatcherFeed {
  readonly #store: LockStore;
  readonly #observer: EngineObserver;
  readonly #bookmarkMs: number;
  #logId: string;
  #revision: bigint;
  readonly #watchers = new Set<Watcher>();
  /** Watchers of one name are found by it; `#broad` holds all others. */
  readonly #byResource = new Map<string, Set<Watcher>>();
  readonly #broad = new Set<Watcher>();
  #catchingUp: Promise<void> | null = null;
  /** It was woken after the last page was asked for: that page may not show what it was woken for. */
  #isWoken = false;
  #isClosed = false;

  constructor(store: LockStore, head: LogHead, observer: EngineObserver, bookmarkMs: number) {
    this.#store = store;
    this.#observer = observer;
    this.#bookmarkMs = bookmarkMs;
    this.#logId = head.logId;
    this.#revision = head.revision;
  }

  get revision(): bigint {
    return this.#revision;
  }

  get logId(): string {
    return this.#logId;
  }

  /** Every change after this call reaches the watcher. */
  watch(request: WatchRequest): Watcher {
    const watcher = new Watcher(this, this.#store, request, this.#bookmarkMs);
    this.#watchers.add(watcher);
    this.#watchersOf(request).add(watcher);
    this.#observer.watchers(this.#watchers.size);
    return watcher;
  }

  remove(watcher: Watcher): void {
    if (!this.#watchers.delete(watcher)) return;
    const { resource } = watcher.request.selector;
    const alike = this.#watchersOf(watcher.request);
    alike.delete(watcher);
    if (resource !== null && alike.size === 0) this.#byResource.delete(resource);
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
    this.#catchingUp ??= this.#catchUp()
      .catch((error: unknown) => {
        // The next wake-up tries again.
        this.#observer.failed(error);
      })
      .finally(() => {
        this.#catchingUp = null;
      });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const watcher of [...this.#watchers]) await watcher.return();
    await this.#catchingUp;
  }

  async #catchUp(): Promise<void> {
    for (let isComplete = false; !isComplete || this.#isWoken;) {
      this.#isWoken = false;
      const page = await this.#store.readLog(this.#revision, PAGE_EVENTS, ALL);
      if (page.logId !== this.#logId || page.oldestRevision > this.#revision) {
        this.#jumpTo(page);
        return;
      }
      // While the page was read, the writer may have published some of it.
      this.#deliver(page.events.filter(({ revision }) => revision > this.#revision));
      isComplete = page.through >= page.revision;
    }
  }

  /** The log does not go on where the feed stands. Each watcher finds out what that means for it when it reads the log. */
  #jumpTo({ logId, revision }: LogHead): void {
    this.#logId = logId;
    this.#revision = revision;
    for (const watcher of this.#watchers) watcher.fallBehind();
  }

  #deliver(events: readonly LockEvent[]): void {
    for (const event of events) {
      this.#revision = event.revision;
      const named = this.#byResource.get(event.resource);
      if (named !== undefined) for (const watcher of named) watcher.offer(event);
      for (const watcher of this.#broad) watcher.offer(event);
      this.#observer.published(Math.max(0, Date.now() - event.writtenAt));
    }
  }

  #watchersOf({ selector: { resource } }: WatchRequest): Set<Watcher> {
    if (resource === null) return this.#broad;
    let watchers = this.#byResource.get(resource);
    if (watchers === undefined) this.#byResource.set(resource, (watchers = new Set()));
    return watchers;
  }
}
