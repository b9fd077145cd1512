import type { Command } from '../locks/commands.js';
import type { OutcomeOf } from '../locks/outcomes.js';
import type { LockStore, LogHead, RetentionPolicy } from '../store/lock-store.js';
import type { Engine } from './engine.js';
import { Feed } from './feed.js';
import type { EngineObserver } from './observer.js';
import { repeat } from './repeat.js';
import { startSweeper } from './sweeper.js';
import type { WatchItem, WatchRequest } from './watch.js';
import { Writer } from './writer.js';

const PRUNE_MS = 30_000;
/** After so long without an event a watcher gets a bookmark. */
const BOOKMARK_MS = 15_000;

export interface LockEngineOptions {
  readonly retention: RetentionPolicy;
  readonly bookmarkMs?: number;
}

/** The engine of one instance. It owns the store it is given. */
export class LockEngine implements Engine {
  readonly #store: LockStore;
  readonly #writer: Writer;
  readonly #feed: Feed;
  readonly #stopSweeper: () => Promise<void>;
  readonly #stopPruning: () => Promise<void>;
  #closed: Promise<void> | null = null;

  private constructor(store: LockStore, head: LogHead, observer: EngineObserver, options: LockEngineOptions) {
    this.#store = store;
    this.#feed = new Feed(store, head, observer, options.bookmarkMs ?? BOOKMARK_MS);
    this.#writer = new Writer(store, observer, (group) => {
      this.#feed.publish(group);
    });
    store.onGrowth(() => {
      this.#feed.wake();
    });
    this.#stopSweeper = startSweeper(store, this.#writer, observer);
    this.#stopPruning = repeat(PRUNE_MS, observer, () => store.prune(options.retention));
  }

  static async start(store: LockStore, observer: EngineObserver, options: LockEngineOptions): Promise<LockEngine> {
    return new LockEngine(store, await store.head(), observer, options);
  }

  submit<C extends Command>(command: C): Promise<OutcomeOf<C>> {
    return this.#writer.submit(command);
  }

  watch(request: WatchRequest): AsyncIterableIterator<WatchItem> {
    return this.#feed.watch(request);
  }

  now(): Promise<number> {
    return this.#store.now();
  }

  head(): Promise<LogHead> {
    return this.#store.head();
  }

  async check(): Promise<void> {
    await this.#store.head();
    await this.#writer.check();
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#stopSweeper();
    await this.#stopPruning();
    await this.#writer.close();
    await this.#feed.close();
    await this.#store.close();
  }
}
