import type { Command } from '../locks/commands.js';
import type { OutcomeOf } from '../locks/outcomes.js';
import type { LockStore, LogHead, RetentionPolicy } from '../store/lock-store.js';
import { Feed } from './feed.js';
import type { EngineObserver } from './observer.js';
import { repeat } from './repeat.js';
import { startSweeper } from './sweeper.js';
import type { Turns } from './turns.js';
import type { WatchItem, WatchRequest } from './watch.js';
import { Writer } from './writer.js';

const PRUNE_MS = 30_000;
/** After so long without an event a watcher gets a bookmark, at the latest. */
const BOOKMARK_MS = 15_000;

export interface EngineOptions {
  readonly retention: RetentionPolicy;
  readonly bookmarkMs?: number;
}

/** The lock service of one instance, without its transports. It owns the store it is given. */
export class Engine {
  readonly #store: LockStore;
  readonly #writer: Writer;
  readonly #feed: Feed;
  readonly #stopSweeper: () => Promise<void>;
  readonly #stopPruning: () => Promise<void>;
  #closed: Promise<void> | null = null;

  private constructor(store: LockStore, head: LogHead, observer: EngineObserver, options: EngineOptions) {
    this.#store = store;
    this.#feed = new Feed(store, head, observer, options.bookmarkMs ?? BOOKMARK_MS);
    this.#writer = new Writer(store, observer, (group) => {
      this.#feed.publish(group);
    });
    store.onGrowth((revision) => {
      this.#feed.wake(revision);
    });
    this.#stopSweeper = startSweeper(store, this.#writer, observer);
    this.#stopPruning = repeat(PRUNE_MS, observer, () => store.prune(options.retention));
  }

  static async start(store: LockStore, observer: EngineObserver, options: EngineOptions): Promise<Engine> {
    return new Engine(store, await store.head(), observer, options);
  }

  /**
   * Decides the command and stores what it changes, durably, before it resolves.
   *
   * @throws StoreUnavailable where the database did not answer, or the engine is overloaded or closing.
   */
  submit<C extends Command>(command: C): Promise<OutcomeOf<C>> {
    return this.#writer.submit(command);
  }

  /**
   * Watches from the moment of this call: no change after it is missed, however late the first item is taken. `return`
   * ends the watch and frees all it held.
   *
   * @param turns of the watches whose items go the same way: of all these, one at a time holds what it read of the database,
   * until its next item is asked for. Left out: it goes a way of its own.
   */
  watch(request: WatchRequest, turns: Turns | null = null): AsyncIterableIterator<WatchItem> {
    return this.#feed.watch(request, turns);
  }

  /** The time of the one clock, in epoch milliseconds. */
  now(): Promise<number> {
    return this.#store.now();
  }

  head(): Promise<LogHead> {
    return this.#store.head();
  }

  /**
   * Resolves where it can take work.
   *
   * @throws StoreUnavailable where the database can't be read, or did not take the last group and takes none now.
   */
  async check(): Promise<void> {
    await this.#store.head();
    await this.#writer.check();
  }

  /** Answers what was submitted, ends all watches, and lets go of the database. Once is enough; more does no harm. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    // Together: where the database hangs, each waits until it has given up.
    await Promise.all([this.#stopSweeper(), this.#stopPruning(), this.#writer.close()]);
    await this.#feed.close();
    await this.#store.close();
  }
}
