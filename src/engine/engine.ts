import type { Command } from '../locks/commands.js';
import type { OutcomeOf } from '../locks/outcomes.js';
import type { LogHead } from '../store/lock-store.js';
import type { WatchItem, WatchRequest } from './watch.js';

/** The lock service without its transports. */
export interface Engine {
  /**
   * Decides the command and stores what it changes, durably, before it resolves.
   *
   * @throws StoreUnavailable where the database did not answer, or the engine is closing.
   */
  submit<C extends Command>(command: C): Promise<OutcomeOf<C>>;

  /**
   * Watches from the moment of this call: no change after it is missed, however late the first item is taken. `return`
   * ends the watch and frees all it held.
   */
  watch(request: WatchRequest): AsyncIterableIterator<WatchItem>;

  /** The time of the one clock, in epoch milliseconds. */
  now(): Promise<number>;

  head(): Promise<LogHead>;

  /**
   * Resolves where it can take work.
   *
   * @throws StoreUnavailable where the database can't be read, or did not take the last group and takes none now.
   */
  check(): Promise<void>;

  /** Answers what was submitted, ends all watches, and lets go of the database. Once is enough; more does no harm. */
  close(): Promise<void>;
}
