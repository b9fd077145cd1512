import { statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Command } from '../../locks/commands.js';
import {
  StoreUnavailable,
  type CommittedGroup,
  type LockSelector,
  type LockStore,
  type LogHead,
  type LogPage,
  type RetentionPolicy,
} from '../lock-store.js';
import { unpack } from './group-message.js';
import { ReadConnection } from './read-connection.js';
import { SharedClock } from './shared-clock.js';
import { timeSourceOf, type TimeCells } from './time-cells.js';
import { WriterClient } from './writer-client.js';

/** How often it looks for what other processes wrote to the file. */
const GROWTH_POLL_MS = 100;

export interface SqliteStoreOptions {
  readonly retryWindowMs: number;
  /** A time that is set by hand; null: the machine's. */
  readonly time: TimeCells | null;
}

/**
 * Locks in one SQLite file, which several processes of one machine may share. Its schema must be up to date.
 *
 * Reads block the thread, each for a moment. Those of which a caller makes many in a row begin in a turn of their own, so
 * that whatever else waits has its turn in between.
 */
export class SqliteStore implements LockStore {
  readonly groupsAtOnce = 2;
  readonly #file: string;
  readonly #opened: number;
  readonly #clock: SharedClock;
  readonly #reader: ReadConnection;
  readonly #writer: WriterClient;
  #growthTimer: NodeJS.Timeout | undefined;
  #closed: Promise<void> | null = null;

  private constructor(file: string, clock: SharedClock, reader: ReadConnection, writer: WriterClient) {
    this.#file = file;
    this.#opened = statSync(file).ino;
    this.#clock = clock;
    this.#reader = reader;
    this.#writer = writer;
  }

  /** @throws StoreUnavailable where the file can't be opened. */
  static async open(file: string, { retryWindowMs, time }: SqliteStoreOptions): Promise<SqliteStore> {
    const clock = new SharedClock(timeSourceOf(time));
    const reader = ReadConnection.open(file);
    try {
      const writer = await WriterClient.start({ file, clock: clock.buffer, time, retryWindowMs });
      return new SqliteStore(file, clock, reader, writer);
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  async commit(commands: readonly Command[]): Promise<CommittedGroup> {
    this.#checkFile();
    return unpack(await this.#writer.request({ kind: 'commit', commands }));
  }

  async now(): Promise<number> {
    return this.#now();
  }

  async head(): Promise<LogHead> {
    this.#checkFile();
    const { logId, revision, oldestRevision } = this.#reader.clock();
    return { logId, revision, oldestRevision };
  }

  async readLog(after: bigint, limit: number, selector: LockSelector): Promise<LogPage> {
    await nextTurn();
    return this.#reader.logPage(after, limit, selector);
  }

  async readLocks(selector: LockSelector, afterResource: string | null, limit: number, now: number) {
    await nextTurn();
    return this.#reader.locks(selector, afterResource, limit, now);
  }

  async dueExpiries(limit: number): Promise<readonly string[]> {
    return this.#reader.dueExpiries(this.#now(), limit);
  }

  async idleLines(after: string | null, limit: number): Promise<readonly string[]> {
    return this.#reader.idleLines(this.#now(), after, limit);
  }

  async positions(instance: string, resources: readonly string[]): Promise<ReadonlyMap<string, number>> {
    await nextTurn();
    return this.#reader.positions(this.#now(), instance, resources);
  }

  async keepAlive(instance: string, until: number): Promise<void> {
    await this.#writer.request({ kind: 'keep-alive', instance, until });
  }

  async countHeld(): Promise<number> {
    return this.#reader.countHeld(this.#now());
  }

  prune(policy: RetentionPolicy): Promise<boolean> {
    return this.#writer.request({ kind: 'prune', policy });
  }

  onGrowth(wake: (revision?: bigint) => void): void {
    this.#growthTimer = setInterval(() => {
      wake();
    }, GROWTH_POLL_MS).unref();
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    clearInterval(this.#growthTimer);
    await this.#writer.close();
    this.#reader.close();
  }

  /** What was deleted or replaced can still be written, but nobody will ever read it. */
  #checkFile(): void {
    if (statSync(this.#file, { throwIfNoEntry: false })?.ino === this.#opened) return;
    throw new StoreUnavailable('The database file was deleted or replaced: start anew', false);
  }

  /** Another process on the file may be ahead. */
  #now(): number {
    return this.#clock.nowNotBefore(this.#reader.clock().at);
  }
}
