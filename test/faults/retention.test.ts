import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { ManualTime } from '../support/manual-time.js';
import { Session } from './session.js';

const RETENTION = { EVENT_RETENTION_ROWS: '3', RETRY_WINDOW_MS: '1000' };

test('a watch that resumes where the log is pruned is told of the gap and of what is held, and goes on without another', async () => {
  const time = new ManualTime();
  const first = await startTestApp({ time });
  const { api } = await Session.open(first.url);
  for (const resource of ['a', 'b', 'c', 'd', 'e']) await api.acquire(resource, 'A', { ttlMs: 60_000 });
  await first.close();
  time.advance(2_000);

  // It prunes when it starts.
  const { url } = await startTestApp({ time, env: { ...RETENTION, DATABASE_URL: first.databaseUrl } });
  const session = await Session.open(url);
  await expect.poll(async () => (await session.api.head()).oldestRevision).toBe('2');
  expect((await session.api.events()).map(({ revision }) => revision)).toEqual(['3', '4', '5']);

  const gap = await session.watch({ after: '1' });
  expect(gap.items).toMatchObject([{ __typename: 'LockSnapshot', reason: 'GAP', complete: true, revision: '5' }]);
  expect(gap.items[0]).toHaveProperty('locks.length', 5);
  const exact = await session.watch({ after: '2' });
  await session.api.release('a', 'A');
  for (const watch of [gap, exact]) await watch.reach('6');
  expect(gap.events.map(({ revision }) => revision)).toEqual(['6']);
  expect(exact.items.map(({ revision }) => revision)).toEqual(['3', '4', '5', '6']);
});

test('a release whose answer was lost is answered again while the retry window lasts, however few events are kept', async () => {
  const time = new ManualTime();
  const first = await startTestApp({ time });
  const { api } = await Session.open(first.url);
  await api.acquire('r', 'A');
  const released = await api.release('r', 'A', '1');
  for (let n = 0; n < 10; n++) await api.acquire(`other:${n}`, 'A');
  await first.close();
  time.advance(999);

  const { url } = await startTestApp({ time, env: { ...RETENTION, DATABASE_URL: first.databaseUrl } });
  const { api: next } = await Session.open(url);
  expect(await next.release('r', 'A', '1')).toEqual(released);
});
