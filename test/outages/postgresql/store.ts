import { expect, onTestFinished } from 'vitest';
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

/** @param databaseUrl left out: of a new database. */
export async function openStoreBehindProxy(databaseUrl?: string): Promise<StoreBehindProxy> {
  const url = databaseUrl ?? (await createDatabase());
  const proxy = await TcpProxy.start(url);
  return { store: await openQuietStore(proxy.through(url)), proxy, databaseUrl: url };
}

/**
 * The next groups of the store, so many of them, each take two messages, the first of which asks; then it is as before. It is
 * brought to that by names that it assumes to be free, and another one holds. Nothing of this is under way afterwards.
 */
export async function makeAskFirst(store: LockStore, other: LockStore, groups: 1 | 3 = 1): Promise<void> {
  for (let asking = 0; asking < groups; asking = 2 * asking + 1) {
    const taken = acquire(`taken:${(await other.head()).revision}`, 'A');
    // One that asks can not be wrong.
    for (let n = 0; n < asking; n++) await store.commit([{ ...taken, resource: `${taken.resource}:${n}` }]);
    await other.commit([taken]);
    const { outcomes } = await store.commit([taken]);
    expect(outcomes).toMatchObject([{ kind: 'acquired', reacquired: true }]);
  }
}

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

/** What was acquired, and by whom, in the order of the log: `resource owner`. Leaves out what {@link makeAskFirst} did. */
export async function acquisitionsOf(store: LockStore): Promise<string[]> {
  return (await logOf(store))
    .filter(({ type, resource }) => type === 'ACQUIRED' && !resource.startsWith('taken:'))
    .map(({ resource, owner }) => `${resource} ${owner}`);
}
