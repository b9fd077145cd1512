import type { AcquireAllCommand, AcquireCommand, Command } from '../locks/commands.js';
import type { Lock } from '../locks/lock.js';
import type { OutcomeOf, Queued, Released, ReleasedAll, RenewedAll } from '../locks/outcomes.js';
import type { LockStore, LogHead, RetentionPolicy } from '../store/lock-store.js';
import type { CallerPresence } from './caller-presence.js';
import { Feed } from './feed.js';
import type { EngineObserver } from './observer.js';
import { Hold, type HoldEngine, type HoldRequest } from './hold.js';
import type { HoldUpdate } from './hold-updates.js';
import { ownedLocks, type HeldLocks } from './owned-locks.js';
import { repeat } from './repeat.js';
import { startSweeper } from './sweeper.js';
import type { ReadTurns } from './read-turns.js';
import { WaitingCalls, type WaitRequest } from './waiting-calls.js';
import type { WatchItem, WatchRequest } from './watch.js';
import { Writer } from './writer.js';

const PRUNE_MS = 30_000;
/** After so long without an event a watcher gets a bookmark, at the latest. */
const BOOKMARK_MS = 15_000;
/** Of one page of what became of a lock that is held no more. */
const HOLD_EVENTS = 256;

/** One that is answered at once. */
export type ImmediateCommand =
  Exclude<Command, AcquireCommand | AcquireAllCommand> | ((AcquireCommand | AcquireAllCommand) & { readonly wait: null });

type ImmediateOutcomeOf<C extends Command> = Exclude<OutcomeOf<C>, Queued>;

export interface EngineOptions {
  readonly retention: RetentionPolicy;
  readonly bookmarkMs?: number;
}

/** The lock service of one instance, without its transports. It owns the store it is given. */
export class Engine {
  readonly #store: LockStore;
  readonly #writer: Writer;
  readonly #feed: Feed;
  readonly #waiting: WaitingCalls;
  readonly #holds = new Set<Hold>();
  readonly #stopSweeper: () => Promise<void>;
  readonly #stopPruning: () => Promise<void>;
  #waitingStopped: Promise<void> | null = null;
  #closed: Promise<void> | null = null;

  private constructor(store: LockStore, head: LogHead, observer: EngineObserver, options: EngineOptions) {
    this.#store = store;
    this.#feed = new Feed(store, head, observer, options.bookmarkMs ?? BOOKMARK_MS, {
      granted: (event) => this.#waiting.granted(event),
      lost: () => this.#waiting.lost(),
    });
    this.#writer = new Writer(store, observer, (group) => {
      this.#feed.publish(group);
    });
    this.#waiting = new WaitingCalls(store, this.#writer, this.#feed, observer);
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
  submit<C extends ImmediateCommand>(command: C): Promise<ImmediateOutcomeOf<C>> {
    return this.#writer.submit(command) as Promise<ImmediateOutcomeOf<C>>;
  }

  /**
   * The same for an acquire; where it can't be had at once, it stands in line for as long as `wait` says (null: not at all).
   *
   * @param caller aborts when nobody waits for the answer any more. Then it gets nothing, whatever the moment; but what it got with a
   * requestId is kept for whoever repeats the request.
   * @throws StoreUnavailable also where another call with its requestId takes over its place.
   */
  acquire<C extends AcquireCommand | AcquireAllCommand>(
    command: Omit<C, 'wait'>,
    wait: WaitRequest | null,
    caller: () => CallerPresence,
  ): Promise<ImmediateOutcomeOf<C>> {
    if (wait !== null) return this.#waiting.acquire<C>(command, wait, caller());
    return this.#writer.submit({ ...command, wait: null } as unknown as C) as Promise<ImmediateOutcomeOf<C>>;
  }

  /**
   * Releases everything an owner holds, or what is named: up to a thousand in one transaction.
   *
   * @throws StoreUnavailable
   */
  async releaseAll(held: HeldLocks): Promise<ReleasedAll> {
    const released: Released[] = [];
    const notHeld: string[] = [];
    for await (const locks of ownedLocks(this.#store, held)) {
      const outcome = await this.submit({ kind: 'release-all', owner: held.owner, locks });
      released.push(...outcome.released);
      if (held.locks !== null) notHeld.push(...outcome.notHeld);
    }
    return { kind: 'released-all', released, notHeld };
  }

  /**
   * Renews everything an owner holds, or what is named: up to a thousand in one transaction.
   *
   * @param ttlMs null: of each that which it was acquired with
   * @throws StoreUnavailable
   */
  async renewAll(held: HeldLocks, ttlMs: number | null): Promise<RenewedAll> {
    const renewed: Lock[] = [];
    const lost: string[] = [];
    for await (const locks of ownedLocks(this.#store, held)) {
      const outcome = await this.submit({ kind: 'renew-all', owner: held.owner, locks, ttlMs });
      renewed.push(...outcome.locks);
      if (held.locks !== null) lost.push(...outcome.lost);
    }
    return { kind: 'renewed-all', locks: renewed, lost };
  }

  /**
   * Holds a lock for as long as the updates are listened to.
   *
   * @param hasCompleted asked when they are returned: true: the listener is done, and the lock is released; false: it was cut off
   */
  hold(request: HoldRequest, hasCompleted: () => boolean): AsyncIterableIterator<HoldUpdate> {
    const hold: Hold = new Hold(this.#forHolds(), request, hasCompleted, () => this.#holds.delete(hold));
    this.#holds.add(hold);
    if (this.#waitingStopped !== null) hold.shutDown();
    return hold;
  }

  /**
   * Watches from the moment of this call: no change after it is missed, however late the first item is taken. `return`
   * ends the watch and frees all it held.
   *
   * @param turns of the watches whose items go the same way: of all these, one at a time holds what it read of the database,
   * until its next item is asked for. Left out: it goes a way of its own.
   */
  watch(request: WatchRequest, turns: ReadTurns | null = null): AsyncIterableIterator<WatchItem> {
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

  /**
   * Whoever stands in line leaves it, and is told to try elsewhere; whoever holds by its updates is told to come back elsewhere.
   * Resolves when that is done. {@link close} does it as well; more does no harm.
   */
  stopWaiting(): Promise<void> {
    for (const hold of this.#holds) hold.shutDown();
    return (this.#waitingStopped ??= this.#waiting.close());
  }

  /** Answers what was submitted, ends all watches, and lets go of the database. Once is enough; more does no harm. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.stopWaiting();
    // Together: where the database hangs, each waits until it has given up.
    await Promise.all([this.#stopSweeper(), this.#stopPruning(), this.#writer.close()]);
    await this.#feed.close();
    await this.#store.close();
  }

  #forHolds(): HoldEngine {
    return {
      acquire: (command, wait, caller) => this.acquire<AcquireCommand>(command, wait, caller),
      submit: (command) => this.submit(command),
      watch: (request) => this.watch(request),
      readLog: (after, selector) => this.#store.readLog(after, HOLD_EVENTS, selector),
      now: () => this.now(),
      giveBack: (lock) => this.#waiting.giveBack(lock),
    };
  }
}
