import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { acquire } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { holdWriteLock } from '../../support/database-faults.js';
import { answerTo } from './answers.js';
import { firstMessageBytes } from './messages.js';
import { cancel, HOLDS_THE_LOCK, IS_IDLE, terminate, untilThereIs, WAITS_FOR_THE_LOCK } from './sessions.js';
import { acquisitionsOf, ASKING, openQuietStore, openStoreBehindProxy } from './store.js';

/** How long anybody waits for an answer, whatever it is. */
const PATIENCE_MS = 5_000;

/** A group that waits for the lock, which somebody holds who has nothing to do with the service. */
async function waitForLock() {
  const databaseUrl = await createDatabase();
  const store = await openQuietStore(databaseUrl);
  await answerTo(store, acquire('before', 'A'));
  const free = await holdWriteLock(databaseUrl);
  const answer = answerTo(store, acquire('job', 'A'));
  await untilThereIs(databaseUrl, WAITS_FOR_THE_LOCK);
  return { databaseUrl, store, free, answer };
}

describe('when an administrator ends', () => {
  test('sessions that are idle, the next group gets another one', async () => {
    const databaseUrl = await createDatabase();
    const store = await openQuietStore(databaseUrl);
    for (const resource of ['1', '2', '3']) {
      expect((await answerTo(store, acquire(resource, 'A'))).answer).toBe('acquired');
      await terminate(databaseUrl, IS_IDLE);
    }
    expect(await acquisitionsOf(store)).toEqual(['1 A', '2 A', '3 A']);
  });

  test('the session that waits for the lock, its group waits in another one', async () => {
    const { databaseUrl, store, free, answer } = await waitForLock();
    await terminate(databaseUrl, WAITS_FOR_THE_LOCK);
    await untilThereIs(databaseUrl, WAITS_FOR_THE_LOCK);
    await free();
    expect((await answer).answer).toBe('acquired');
    expect(await acquisitionsOf(store)).toEqual(['before A', 'job A']);
  });

  test('the session that has the lock, its group is stored by another one, once', async () => {
    const { store, proxy, databaseUrl } = await openStoreBehindProxy();
    await answerTo(store, acquire('before', 'A'));
    const group = [acquire('job', 'A'), ASKING];
    proxy.stall({ direction: 'toServer', afterBytes: firstMessageBytes(...group) });
    const answer = answerTo(store, ...group);
    await untilThereIs(databaseUrl, HOLDS_THE_LOCK);
    await terminate(databaseUrl, HOLDS_THE_LOCK);
    proxy.pass();
    expect((await answer).answer).toBe('acquired');
    expect(await acquisitionsOf(store)).toEqual(['before A', 'job A']);
  });

  test('what a session does, its group was not applied, and the next one is', async () => {
    const { databaseUrl, store, free, answer } = await waitForLock();
    await cancel(databaseUrl, WAITS_FOR_THE_LOCK);
    expect((await answer).answer).toBe('unavailable, not applied');
    await free();
    expect((await answerTo(store, acquire('job', 'B'))).answer).toBe('acquired');
  });
});

test('a group that does not get the lock in time was not applied, and is told so', async () => {
  const { store, free, answer } = await waitForLock();
  const { answer: told, afterMs } = await answer;
  expect(told).toBe('unavailable, not applied');
  expect(afterMs).toBeLessThan(PATIENCE_MS + 500);
  await free();
  // Nothing of it comes later.
  await sleep(200);
  expect(await acquisitionsOf(store)).toEqual(['before A']);
  expect((await answerTo(store, acquire('job', 'B'))).answer).toBe('acquired');
});
