import { expect, onTestFinished } from 'vitest';
import type { Command } from '../../../src/locks/commands.js';
import type { LockEvent } from '../../../src/locks/events.js';
import type { LockStore } from '../../../src/store/lock-store.js';
import { openStore } from '../../../src/store/open-store.js';
import { acquire } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { runSql } from '../../support/sql.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

export interface StoreBehindProxy {
  readonly store: LockStore;
  /** All that the store says to the database, and hears from it, goes through it. */
  readonly proxy: TcpProxy;
  /** The way around the proxy. */
  readonly databaseUrl: string;
}

/** A store in which nothing happens by itself: it has no engine, and listens nowhere. Closed when the test is over. */
export async function openQuietStore(databaseUrl: string): Promise<LockStore> {
  const store = await openStore({ databaseUrl, retryWindowMs: 600_000, listenUrl: null });
  onTestFinished(() => store.close());
  return store;
}

/** Two instances on one database. Each has acquired a lock, and so knows enough to store a group with one message. */
export async function openTwoStores(databaseUrl: string) {
  const [store, other] = [await openQuietStore(databaseUrl), await openQuietStore(databaseUrl)];
  await store.commit([acquire('mine', 'A')]);
  await other.commit([acquire('theirs', 'A')]);
  return { store, other };
}

/** @param databaseUrl left out: of a new database. */
export async function openStoreBehindProxy(databaseUrl?: string): Promise<StoreBehindProxy> {
  const url = databaseUrl ?? (await createDatabase());
  const proxy = await TcpProxy.start(url);
  return { store: await openQuietStore(proxy.through(url)), proxy, databaseUrl: url };
}

/**
 * A command that changes nothing, and that an instance can answer only once it has asked: a group with it takes two messages,
 * however much the instance knows.
 */
export const ASKING: Command = { kind: 'expire', resource: 'unmet' };

/** From now on a group that is not stored with its first message fails: none can ask. Undone by what it returns. */
export async function forbidToAsk(databaseUrl: string): Promise<() => Promise<void>> {
  await runSql(databaseUrl, 'ALTER FUNCTION holdfast_take_lock RENAME TO holdfast_hidden');
  return async () => {
    await runSql(databaseUrl, 'ALTER FUNCTION holdfast_hidden RENAME TO holdfast_take_lock');
  };
}

/** The log, from its beginning. */
export async function logOf(store: LockStore): Promise<readonly LockEvent[]> {
  const { events } = await store.readLog(0n, 10_000, { resource: null, prefix: null, owner: null });
  expect(events.map(({ revision }) => revision)).toEqual(events.map((_, index) => BigInt(index + 1)));
  return events;
}

/** What was acquired, and by whom, in the order of the log: `resource owner`. */
export async function acquisitionsOf(store: LockStore): Promise<string[]> {
  return (await logOf(store)).filter(({ type }) => type === 'ACQUIRED').map(({ resource, owner }) => `${resource} ${owner}`);
}
