import type { Command } from '../locks/commands.js';
import type { Outcome, OutcomeOf } from '../locks/outcomes.js';
import { StoreUnavailable, type CommittedGroup, type LockStore } from '../store/lock-store.js';
import type { EngineObserver } from './observer.js';

/** Commands in one transaction at the most: what a slow disk keeps waiting, and what one failure can touch. */
const MAX_GROUP_COMMANDS = 1000;
/** So many go ahead where another group may follow: the store is at work while the rest of the input is read. 8 or 32 are no better. */
const EAGER_GROUP_COMMANDS = 16;
/** Commands that wait, at the most. Beyond that a refusal at once is worth more than an answer in minutes. */
const MAX_WAITING_COMMANDS = 100_000;

interface Submission {
  readonly command: Command;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Puts all commands into one order and commits them in groups: those that arrive while one transaction commits go
 * together into the next.
 */
export class Writer {
  readonly #store: LockStore;
  readonly #observer: EngineObserver;
  readonly #publish: (group: CommittedGroup) => void;
  readonly #queue: Submission[] = [];
  #groupsUnderWay = 0;
  #flushIsScheduled = false;
  #closing: (() => void) | null = null;
  #isFailing = false;

  /** @param publish is told of every group that changed something, in revision order, before its commands are answered. */
  constructor(store: LockStore, observer: EngineObserver, publish: (group: CommittedGroup) => void) {
    this.#store = store;
    this.#observer = observer;
    this.#publish = publish;
  }

  submit<C extends Command>(command: C): Promise<OutcomeOf<C>> {
    if (this.#closing !== null) return Promise.reject(new StoreUnavailable('The server is shutting down', false));
    if (this.#queue.length >= MAX_WAITING_COMMANDS) return Promise.reject(new StoreUnavailable('The server is overloaded', false));
    return new Promise((resolve, reject) => {
      // The store answers each command with an outcome of its own kind.
      this.#queue.push({ command, resolve: resolve as Submission['resolve'], reject });
      this.#scheduleFlush();
    });
  }

  /**
   * Resolves where the database takes groups. After one that it did not take, it is asked to write something.
   *
   * @throws StoreUnavailable
   */
  async check(): Promise<void> {
    if (!this.#isFailing) return;
    await this.#store.commit([]);
    this.#isFailing = false;
  }

  /** Takes nothing more, and resolves when everything that was taken is answered. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#closing = resolve;
      this.#resolveIfClosed();
    });
  }

  /**
   * What comes together is committed together: the input of this turn where nothing is under way, which is not worth any
   * wait; else of all sockets that are to be read. Of much input the first part goes ahead, but where the store takes one group
   * at a time.
   */
  #scheduleFlush(): void {
    const free = this.#store.groupsAtOnce - this.#groupsUnderWay;
    if (free > 1 && this.#queue.length >= EAGER_GROUP_COMMANDS) {
      this.#flush();
      return;
    }
    if (this.#flushIsScheduled || free === 0) return;
    this.#flushIsScheduled = true;
    const flush = () => {
      this.#flushIsScheduled = false;
      this.#flush();
    };
    if (this.#groupsUnderWay === 0) process.nextTick(flush);
    else setImmediate(flush);
  }

  #flush(): void {
    while (this.#queue.length > 0 && this.#groupsUnderWay < this.#store.groupsAtOnce) {
      this.#groupsUnderWay++;
      void this.#commit(this.#queue.splice(0, MAX_GROUP_COMMANDS)).finally(() => {
        this.#groupsUnderWay--;
        if (this.#queue.length > 0) this.#scheduleFlush();
        this.#resolveIfClosed();
      });
    }
  }

  async #commit(group: readonly Submission[]): Promise<void> {
    let committed: CommittedGroup;
    try {
      committed = await this.#store.commit(group.map(({ command }) => command));
    } catch (error) {
      await this.#fail(group, error);
      return;
    }
    this.#isFailing = false;
    this.#observer.committed(group.length, committed.commitMs);
    if (committed.events.length > 0) this.#publish(committed);
    for (const [index, { command, resolve }] of group.entries()) {
      const outcome = committed.outcomes[index] as Outcome;
      this.#observer.decided(command, outcome);
      resolve(outcome);
    }
  }

  /**
   * One command must not fail its neighbours: where the database is not at fault, each gets a transaction of its own. A
   * group that is under way meanwhile may come before them: all of them were waiting together, so any order is true.
   *
   * Where it is, those that wait are told so now: their turn would come after many more failures, or when nobody waits for
   * the answer any more.
   */
  async #fail(group: readonly Submission[], error: unknown): Promise<void> {
    this.#observer.failed(error);
    this.#isFailing = error instanceof StoreUnavailable;
    if (error instanceof StoreUnavailable) {
      for (const { reject } of group) reject(error);
      const notBegun = new StoreUnavailable(error.message, false, { cause: error });
      for (const { reject } of this.#queue.splice(0)) reject(notBegun);
    } else if (group.length === 1) {
      for (const { reject } of group) reject(error);
    } else {
      for (const submission of group) await this.#commit([submission]);
    }
  }

  #resolveIfClosed(): void {
    if (this.#queue.length === 0 && this.#groupsUnderWay === 0) this.#closing?.();
  }
}
