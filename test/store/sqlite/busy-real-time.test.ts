import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../../src/store/open-store.js';
import type { LockStore } from '../../../src/store/lock-store.js';
import { acquire } from '../../support/commands.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

async function openBoth(): Promise<{ store: LockStore; other: Database.Database }> {
  const file = join(temporaryDirectory(), 'locks.db');
  const store = await openStore({ databaseUrl: `file:${file}`, retryWindowMs: 600_000 });
  const other = new Database(file);
  onTestFinished(async () => {
    other.close();
    await store.close();
  });
  return { store, other };
}

const acquireAll = (store: LockStore, prefix: string, count: number) =>
  Promise.allSettled(Array.from({ length: count }, (_, i) => store.commit([acquire(`${prefix}:${i}`, 'o')])));

const afterwards = (ms: number, work: () => void) =>
  new Promise<void>((resolve) =>
    setTimeout(() => {
      work();
      resolve();
    }, ms),
  );

it('a reader that holds its snapshot open keeps no acquire waiting', async () => {
  const { store, other } = await openBoth();
  other.exec('BEGIN');
  other.prepare('SELECT * FROM lock_clock').all();
  const results = await acquireAll(store, 'r', 20);
  expect(results.every(({ status }) => status === 'fulfilled')).toBe(true);
  other.exec('COMMIT');
});

it('another writer that holds the file for a moment is waited for', async () => {
  const { store, other } = await openBoth();
  other.exec('BEGIN EXCLUSIVE');
  const [results] = await Promise.all([acquireAll(store, 'r', 20), afterwards(1000, () => other.exec('COMMIT'))]);
  expect(results.every(({ status }) => status === 'fulfilled')).toBe(true);
});

it('another writer that does not let go is answered with nothing applied, and everything works once it has', async () => {
  const { store, other } = await openBoth();
  other.exec('BEGIN EXCLUSIVE');
  const [refused] = await Promise.all([acquireAll(store, 'refused', 1), afterwards(6000, () => other.exec('COMMIT'))]);
  expect(refused).toMatchObject([{ status: 'rejected', reason: { name: 'StoreUnavailable', applied: false } }]);
  const results = await acquireAll(store, 'r', 100);
  expect(results.every(({ status }) => status === 'fulfilled')).toBe(true);
  const stored = other
    .prepare(`SELECT count(*) FILTER (WHERE resource LIKE 'refused%'), count(*) FROM distributed_locks`)
    .raw()
    .get();
  expect(stored).toEqual([0, 100]);
});
