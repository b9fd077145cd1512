import type { Command } from '../locks/commands.js';
import type { LockEvent } from '../locks/events.js';
import type { Lock } from '../locks/lock.js';
import type { Outcome } from '../locks/outcomes.js';

/** Where the log begins and ends, and which history it is. */
export interface LogHead {
  readonly logId: string;
  /** The newest revision; 0 before the first change. */
  readonly revision: bigint;
  /** The oldest revision after which a watch can resume: every later event is in the log. */
  readonly oldestRevision: bigint;
}

/** What a committed group did. */
export interface CommittedGroup {
  /** One for each command, in their order. */
  readonly outcomes: readonly Outcome[];
  /** In revision order, without a gap. */
  readonly events: readonly LockEvent[];
  /** Which history the events belong to. */
  readonly logId: string;
  /** How long the transaction took, in milliseconds. */
  readonly commitMs: number;
}

/** A stretch of the log. The head is read together with it, so that pruning can't open a silent hole. */
export interface LogPage extends LogHead {
  readonly events: readonly LockEvent[];
  /** The revision up to which the page is complete: what is not in it up to here did not match. Never above `revision`. */
  readonly through: bigint;
}

/** Which names and owners; what is null does not narrow. `resource` and `prefix` exclude each other. */
export interface LockSelector {
  readonly resource: string | null;
  readonly prefix: string | null;
  readonly owner: string | null;
}

export interface RetentionPolicy {
  readonly eventAgeMs: number;
  readonly eventRows: number;
  readonly expiredLockAgeMs: number;
}

/**
 * The database. Every method rejects with {@link StoreUnavailable} where the database did not answer, and with another
 * error only for a fault of ours.
 */
export interface LockStore {
  /** How many groups to hand over at once, for the most throughput: with a second one it never waits for its caller. */
  readonly groupsAtOnce: number;

  /**
   * Decides and stores the commands in one transaction, durably: when it resolves, nothing of it can be lost. Groups
   * are serial over all instances of the database. After a rejection that is not {@link StoreUnavailable} nothing was stored.
   * A group without commands writes the time alone: it shows whether the database can be written.
   */
  commit(commands: readonly Command[]): Promise<CommittedGroup>;

  /** The time of the one clock, in epoch milliseconds. It never runs backwards, whoever asks. */
  now(): Promise<number>;

  head(): Promise<LogHead>;

  /** Until then, whoever waits on this instance can have its turn: without a sign of life it would be passed over. */
  keepAlive(instance: string, until: number): Promise<void>;

  /** The places in these lines (1 is next) of those who wait on the instance, by their ids. */
  positions(instance: string, resources: readonly string[]): Promise<ReadonlyMap<string, number>>;

  /**
   * Resources that are free although somebody stands in line whose turn it may be; of those that have the same waiter first in line,
   * one, since it waits for all of them. By name, those above `after` (null: from the first on); at most `limit`.
   */
  idleLines(after: string | null, limit: number): Promise<readonly string[]>;

  /** The events above `after` that the selector admits, oldest first, out of the next revisions of the log; at most `limit` of them. */
  readLog(after: bigint, limit: number, selector: LockSelector): Promise<LogPage>;

  /** Locks held at `now`, by name in code point order, above `afterResource`; at most `limit`. */
  readLocks(selector: LockSelector, afterResource: string | null, limit: number, now: number): Promise<readonly Lock[]>;

  /** The resources whose expiry has passed without an EXPIRED event, those that expired first first; at most `limit`. */
  dueExpiries(limit: number): Promise<readonly string[]>;

  countHeld(): Promise<number>;

  /**
   * Removes a bounded number of the oldest events and expired rows that the policy lets go, never an event younger than
   * the retry window, and of those in line whose time has passed. Resolves to whether there is more to remove.
   */
  prune(policy: RetentionPolicy): Promise<boolean>;

  /**
   * Calls back when the log may have grown, also by other instances, with the revision where that is known. A wake-up only:
   * it may come late or twice.
   */
  onGrowth(wake: (revision?: bigint) => void): void;

  /** Waits for the commits under way, then lets go of the database. Once is enough; more does no harm. */
  close(): Promise<void>;
}

/** The database did not answer. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';

  /**
   * @param applied false: nothing of the group was stored, certainly. null: it may or may not have been.
   */
  constructor(
    message: string,
    readonly applied: false | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
