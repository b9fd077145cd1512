import { expect, test } from 'vitest';
import { acquire, release, renew } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { holdWriteLock } from '../../support/database-faults.js';
import { logOf, openTwoStores } from './store.js';

const LEASE_MS = 80;

test('where a lock is passed on between instances, the time of its events never runs back', async () => {
  const { store, other } = await openTwoStores(await createDatabase());
  for (let n = 0; n < 100; n++) {
    await other.commit([acquire('passed', 'B'), release('passed', 'B')]);
    // Whose idea of the time is behind the other's by as much as its last answer took.
    await store.commit([acquire('passed', 'A'), release('passed', 'A')]);
  }
  const events = (await logOf(store)).filter(({ resource }) => resource === 'passed');
  expect(events).toHaveLength(400);
  const times = events.map(({ at }) => at);
  expect(times).toEqual([...times].sort((one, another) => one - another));
});

test('a lock is not renewed that others may have seen expired, though its renewal was decided before', async () => {
  const databaseUrl = await createDatabase();
  const { store, other } = await openTwoStores(databaseUrl);
  const lease = acquire('short', 'A', { ttlMs: LEASE_MS });
  const { events } = await store.commit([lease]);
  const free = await holdWriteLock(databaseUrl);
  const renewal = store.commit([renew('short', 'A')]);
  await expect.poll(() => other.now(), { interval: 5 }).toBeGreaterThanOrEqual(events[0]!.expiresAt);
  await free();
  expect((await renewal).outcomes).toMatchObject([{ kind: 'conflict', reason: 'EXPIRED' }]);
});
