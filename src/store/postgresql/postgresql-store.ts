import type pg from 'pg';
import type { Command } from '../../locks/commands.js';
import type { CommittedGroup, LockSelector, LockStore, LogHead, LogPage, RetentionPolicy } from '../lock-store.js';
import { StoreUnavailable } from '../lock-store.js';
import { Announcer } from './announcer.js';
import { openPool, processOf } from './connections.js';
import { DatabaseClock } from './database-clock.js';
import { namedFault } from './faults.js';
import { GroupWriter } from './group-writer.js';
import { GrowthListener } from './growth-listener.js';
import { keepInstanceAlive } from './line-sql.js';
import { momentSql } from './moments.js';
import { pruneStep } from './prune.js';
import { Reader } from './reader.js';
import { isNarrow } from './selector-sql.js';

/** One group, one step of pruning, and one for what is short: to find out what became of a group, to announce one, a sign of life. */
const WRITE_CONNECTIONS = 3;
const READ_CONNECTIONS = 3;

/** Longer than the lock is waited for: an answer of the database is worth more than none. */
const WRITE_TIMEOUT_MS = 5000;
const READ_TIMEOUT_MS = 4000;

export interface PostgresqlStoreOptions {
  readonly retryWindowMs: number;
  /** Where to listen for changes; null: nowhere, they are looked for once a second. */
  readonly listenUrl: string | null;
  /** Told why it can't listen, when that begins; null: it can again. */
  readonly onListening: (reason: string | null) => void;
  /** Epoch milliseconds that are set by hand; null: the database's clock. */
  readonly wall: (() => number) | null;
}

/** Locks in a PostgreSQL database, which any number of instances may share. Its schema must be up to date. */
export class PostgresqlStore implements LockStore {
  /** A second one would take the lock as a group of its own, though its commands could have joined a larger one. */
  readonly groupsAtOnce = 1;
  readonly #listenUrl: string | null;
  readonly #onListening: PostgresqlStoreOptions['onListening'];
  readonly #retryWindowMs: number;
  readonly #writePool: pg.Pool;
  /** The processes of the database that serve the write pool: what they notify of is known here. */
  readonly #writeProcesses = new Set<number>();
  readonly #readPool: pg.Pool;
  readonly #reader: Reader;
  readonly #clock: DatabaseClock;
  readonly #announcer: Announcer;
  readonly #writer: GroupWriter;
  #listener: GrowthListener | null = null;
  #closed: Promise<void> | null = null;

  /** It connects when it is first asked. */
  constructor(databaseUrl: string, { retryWindowMs, listenUrl, onListening, wall }: PostgresqlStoreOptions) {
    const moment = momentSql(wall);
    this.#listenUrl = listenUrl;
    this.#onListening = onListening;
    this.#retryWindowMs = retryWindowMs;
    this.#writePool = openPool(databaseUrl, WRITE_CONNECTIONS, WRITE_TIMEOUT_MS);
    this.#writePool.on('connect', (client) => this.#writeProcesses.add(processOf(client)));
    this.#writePool.on('remove', (client) => this.#writeProcesses.delete(processOf(client)));
    this.#readPool = openPool(databaseUrl, READ_CONNECTIONS, READ_TIMEOUT_MS);
    this.#reader = new Reader(this.#readPool, moment);
    const clock = new DatabaseClock(() => this.#reader.now());
    this.#clock = clock;
    this.#announcer = new Announcer(this.#writePool);
    this.#writer = new GroupWriter(this.#writePool, this.#announcer, {
      retryWindowMs,
      wall,
      sessionKey: () => this.#listener?.sessionKey ?? null,
      notBefore: (now) => clock.notBefore(now),
    });
  }

  async commit(commands: readonly Command[]): Promise<CommittedGroup> {
    this.#refuseIfClosed();
    return this.#writer.commit(commands);
  }

  async now(): Promise<number> {
    this.#refuseIfClosed();
    return this.#clock.now();
  }

  async head(): Promise<LogHead> {
    this.#refuseIfClosed();
    return this.#reader.head();
  }

  async readLog(after: bigint, limit: number, selector: LockSelector): Promise<LogPage> {
    this.#refuseIfClosed();
    const page = await this.#reader.logPage(after, limit, selector);
    if (!isNarrow(selector)) this.#writer.follow(after, page);
    return page;
  }

  async readLocks(selector: LockSelector, afterResource: string | null, limit: number, now: number) {
    this.#refuseIfClosed();
    return this.#reader.locks(selector, afterResource, limit, now);
  }

  async dueExpiries(limit: number): Promise<readonly string[]> {
    this.#refuseIfClosed();
    return this.#reader.dueExpiries(limit);
  }

  async keepAlive(instance: string, until: number): Promise<void> {
    this.#refuseIfClosed();
    try {
      await this.#writePool.query(keepInstanceAlive(instance, until, this.#listener?.sessionKey ?? null));
    } catch (error) {
      throw namedFault(error, 'The database did not take a sign of life', null);
    }
  }

  async idleLines(after: string | null, limit: number): Promise<readonly string[]> {
    this.#refuseIfClosed();
    return this.#reader.idleLines(after, limit);
  }

  async positions(instance: string, resources: readonly string[]): Promise<ReadonlyMap<string, number>> {
    this.#refuseIfClosed();
    return this.#reader.positions(instance, resources);
  }

  async countHeld(): Promise<number> {
    this.#refuseIfClosed();
    return this.#reader.countHeld();
  }

  async prune(policy: RetentionPolicy): Promise<boolean> {
    this.#refuseIfClosed();
    return pruneStep(this.#writePool, this.#reader, this.#retryWindowMs, policy);
  }

  onGrowth(wake: (revision?: bigint) => void): void {
    this.#listener = new GrowthListener({
      databaseUrl: this.#listenUrl,
      wake,
      ownProcesses: this.#writeProcesses,
      onListening: this.#onListening,
    });
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#listener?.close();
    await this.#announcer.close();
    // Each waits for what its connections are doing.
    await Promise.all([this.#writePool.end(), this.#readPool.end()]);
  }

  #refuseIfClosed(): void {
    if (this.#closed !== null) throw new StoreUnavailable('The database was let go', false);
  }
}
