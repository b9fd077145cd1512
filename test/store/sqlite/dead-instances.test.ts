import { expect, onTestFinished, test } from 'vitest';
import type { LockStore } from '../../../src/store/lock-store.js';
import { openStore } from '../../../src/store/open-store.js';
import { acquire, release } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';

const WAIT = { id: 'ended.1', instance: 'ended', waitMs: 60_000, detectDeadlock: false };

async function open(databaseUrl: string): Promise<LockStore> {
  const store = await openStore({ databaseUrl, retryWindowMs: 600_000 });
  onTestFinished(() => store.close());
  return store;
}

/** A database in which a caller waits whose instance has ended a moment ago, as if it had been killed. */
async function leaveWaiter(databaseUrl: string): Promise<void> {
  const store = await open(databaseUrl);
  await store.commit([acquire('job', 'A'), { ...acquire('job', 'B'), wait: WAIT }]);
  await store.close();
}

const ownerAfterRelease = async (store: LockStore) => {
  const { events } = await store.commit([release('job', 'A')]);
  return events.map(({ type, owner }) => `${type} ${owner}`);
};

test('whoever waited on a process that has ended gets nothing from one that opens the file alone', async () => {
  const databaseUrl = await createDatabase();
  await leaveWaiter(databaseUrl);
  expect(await ownerAfterRelease(await open(databaseUrl))).toEqual(['RELEASED A']);
});

test('while another process has the file open, nobody is taken out of line', async () => {
  const databaseUrl = await createDatabase();
  const other = await open(databaseUrl);
  await leaveWaiter(databaseUrl);
  await open(databaseUrl);
  expect(await ownerAfterRelease(other)).toEqual(['RELEASED A', 'ACQUIRED B']);
});
