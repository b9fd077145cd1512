import { expect, onTestFinished, test } from 'vitest';
import type { AcquireCommand } from '../../../src/locks/commands.js';
import type { LockStore } from '../../../src/store/lock-store.js';
import { openStore } from '../../../src/store/open-store.js';
import { acquire, release } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { runSql } from '../../support/sql.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { openQuietStore } from './store.js';

/** Longer than any of these tests takes: nobody is passed over because of it. */
const LEASE_MS = 600_000;

const SESSION_KEYS = `SELECT count(*) AS held FROM pg_locks JOIN pg_database ON pg_database.oid = database
  WHERE locktype = 'advisory' AND datname = current_database()`;

function wait(owner: string, instance: string): AcquireCommand {
  return { ...acquire('job', owner), wait: { id: owner, instance, waitMs: LEASE_MS, detectDeadlock: false } };
}

async function keepAlive(store: LockStore, instance: string): Promise<void> {
  await store.keepAlive(instance, (await store.now()) + LEASE_MS);
}

const keyOf = async (databaseUrl: string, instance: string) =>
  (await runSql(databaseUrl, 'SELECT session_key FROM lock_instances WHERE id = $1', [instance]))[0]?.['session_key'];

/** While A holds `job`, first B waits for it on one instance, whose way to the database is the proxy; then C does on another one. */
async function openLine() {
  const databaseUrl = await createDatabase();
  const proxy = await TcpProxy.start(databaseUrl);
  const store = await openStore({ databaseUrl: proxy.through(databaseUrl), retryWindowMs: 600_000 });
  onTestFinished(() => store.close());
  store.onGrowth(() => undefined);
  const other = await openQuietStore(databaseUrl);
  await other.commit([acquire('job', 'A')]);
  await expect.poll(() => runSql(databaseUrl, SESSION_KEYS)).toEqual([{ held: 1n }]);
  return { databaseUrl, proxy, store, other };
}

/** Whose turn it is when this owner releases. */
async function nextAfter(owner: string, store: LockStore): Promise<(string | null)[]> {
  return (await store.commit([release('job', owner)])).events.slice(1).map(({ waiterId }) => waiterId);
}

test('those of an instance whose process has ended are passed over at once', async () => {
  const { databaseUrl, proxy, store, other } = await openLine();
  await store.commit([wait('B', 'ended')]);
  await other.commit([wait('C', 'other')]);
  await keepAlive(store, 'ended');
  await keepAlive(other, 'other');
  // All that the database sees of the end of a process.
  proxy.refuse();
  proxy.cut();
  await expect.poll(() => runSql(databaseUrl, SESSION_KEYS)).toEqual([{ held: 0n }]);
  expect(await nextAfter('A', other)).toEqual(['C']);
});

test('those of an instance that listens anew are back in line with its next sign of life', async () => {
  const { databaseUrl, proxy, store, other } = await openLine();
  await store.commit([wait('B', 'back')]);
  const key = await keyOf(databaseUrl, 'back');
  expect(key).not.toBeNull();
  proxy.cut();
  const changed = async () => {
    await keepAlive(store, 'back').catch(() => undefined);
    return ![null, key].includes(await keyOf(databaseUrl, 'back'));
  };
  await expect.poll(changed).toBe(true);
  expect(await nextAfter('A', other)).toEqual(['B']);
});

test('those of an instance whose process goes on have their turn, also where others than it hand over', async () => {
  const { store, other } = await openLine();
  await store.commit([wait('B', 'alive')]);
  await other.commit([wait('C', 'other')]);
  for (let n = 0; n < 3; n++) await keepAlive(store, 'alive');
  expect(await nextAfter('A', other)).toEqual(['B']);
  expect(await nextAfter('B', other)).toEqual(['C']);
});

test('those of an instance that listens nowhere have their turn while it gives signs of life', async () => {
  const { databaseUrl, other } = await openLine();
  await other.commit([wait('C', 'other')]);
  expect(await keyOf(databaseUrl, 'other')).toBeNull();
  expect(await nextAfter('A', other)).toEqual(['C']);
});
