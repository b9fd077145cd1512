import { describe, expect, test } from 'vitest';
import { startTestApp, startTestApps } from '../support/app.js';
import { ManualTime } from '../support/manual-time.js';
import { brief } from './log-checks.js';
import { httpApi, lockOf, tokenOf } from './lock-api.js';
import { ConnectionLost, Session } from './session.js';

const REQUEST = { ttlMs: 60_000, requestId: 'request:1' };

describe('an acquire that is sent again with its requestId', () => {
  test('after its connection broke before the answer came gets the one lock it took', async () => {
    const { url } = await startTestApp();
    for (const tries of [1, 2]) {
      const resource = `r:${tries}`;
      for (let n = 0; n < tries; n++) {
        const session = await Session.open(url);
        const watch = await session.watch({ filter: { resource } });
        const lost = session.api.acquire(resource, 'A', REQUEST);
        // The first try takes the lock for certain: only its answer is lost.
        if (n === 0) await watch.until(() => watch.events.length > 0);
        session.cut();
        await lost.catch((error: unknown) => expect(error).toBeInstanceOf(ConnectionLost));
      }
      const api = httpApi(url);
      const retried = await api.acquire(resource, 'A', REQUEST);
      expect(retried).toMatchObject({ __typename: 'LockAcquired', reacquired: false });
      expect((await api.events({ resource })).map(({ revision }) => revision)).toEqual([tokenOf(retried)]);
    }
  });

  test('while the lock is held gets the same lock, as it is now', async () => {
    const time = new ManualTime();
    const api = httpApi((await startTestApp({ time })).url);
    const first = await api.acquire('r', 'A', REQUEST);
    expect(await api.acquire('r', 'A', { ...REQUEST, ttlMs: 5, reacquire: false })).toEqual(first);
    time.advance(1_000);
    const renewed = lockOf(await api.renew('r', 'A'));
    expect(await api.acquire('r', 'A', REQUEST)).toEqual({ ...first, lock: renewed });
    expect((await api.events()).map(brief)).toEqual(['ACQUIRED r A', 'RENEWED r A']);
  });

  test.each([
    ['', 1],
    [' through two instances', 2],
  ])('many times at once%s acquires once, and all get the same answer', async (_, instances) => {
    const urls = (await startTestApps(instances)).map(({ url }) => url);
    const sessions = await Promise.all([...urls, ...urls].map((url) => Session.open(url)));
    const acquires = sessions.flatMap(({ api }) => Array.from({ length: 10 }, () => api.acquire('r', 'A', REQUEST)));
    const answers = await Promise.all(acquires);
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.__typename).toBe('LockAcquired');
    expect((await sessions[0]?.api.events())?.map(brief)).toEqual(['ACQUIRED r A']);
  });

  test('after the lock was released, or has expired, does not take a new one', async () => {
    const time = new ManualTime();
    const api = httpApi((await startTestApp({ time })).url);
    await api.acquire('released', 'A', REQUEST);
    await api.release('released', 'A');
    await api.acquire('expired', 'A', REQUEST);
    time.advance(60_000);
    for (const resource of ['released', 'expired']) {
      expect(await api.acquire(resource, 'A', REQUEST)).toMatchObject({ reason: 'REQUEST_SPENT', current: null });
      expect(await api.lock(resource)).toBeNull();
      expect((await api.events({ resource, types: ['ACQUIRED'] })).length).toBe(1);
    }
  });

  test('after the server was started again is still known', async () => {
    const app = await startTestApp();
    const first = await httpApi(app.url).acquire('r', 'A', REQUEST);
    await app.close();
    const { url } = await startTestApp({ env: { DATABASE_URL: app.databaseUrl } });
    expect(await httpApi(url).acquire('r', 'A', REQUEST)).toEqual(first);
  });
});

test('an acquire with another requestId is another acquire', async () => {
  const api = httpApi((await startTestApp()).url);
  const first = await api.acquire('r', 'A', REQUEST);
  const other = { ...REQUEST, requestId: 'request:2' };
  expect(await api.acquire('r', 'B', other)).toMatchObject({ reason: 'HELD_BY_ANOTHER', current: first.lock });
  expect(await api.acquire('r', 'A', { ...other, reacquire: false })).toMatchObject({ reason: 'HELD_BY_SELF' });
  expect(await api.acquire('r', 'A', other)).toMatchObject({ __typename: 'LockAcquired', reacquired: true });
  // The same id of another owner, or for another resource, is that of another request.
  expect(await api.acquire('r', 'B', REQUEST)).toMatchObject({ reason: 'HELD_BY_ANOTHER' });
  expect(await api.acquire('r2', 'A', REQUEST)).toMatchObject({ __typename: 'LockAcquired', reacquired: false });
});

test('a release that is sent again with its token gets the same answer, also when somebody else holds the lock by now', async () => {
  const { url } = await startTestApp();
  const api = httpApi(url);
  const token = tokenOf(await api.acquire('r', 'A'));
  const [released, ...others] = await Promise.all(Array.from({ length: 5 }, () => api.release('r', 'A', token)));
  expect(released).toMatchObject({ __typename: 'LockReleased', fencingToken: token });
  for (const other of others) expect(other).toEqual(released);
  const { lock } = await api.acquire('r', 'B');
  expect(await api.release('r', 'A', token)).toEqual(released);
  expect((await api.release('r', 'A')).__typename).toBe('Forbidden');
  expect(await api.lock('r')).toEqual(lock);
  expect((await api.events()).map(brief)).toEqual(['ACQUIRED r A', 'RELEASED r A', 'ACQUIRED r B']);
});

test('a renewal that is sent again extends again from now, with the same token', async () => {
  const time = new ManualTime();
  const api = httpApi((await startTestApp({ time })).url);
  const token = tokenOf(await api.acquire('r', 'A', { ttlMs: 10_000 }));
  const renew = () => api.renew('r', 'A', { fencingToken: token, ttlMs: 10_000 });
  const first = lockOf(await renew());
  time.advance(500);
  const second = lockOf(await renew());
  expect(second.fencingToken).toBe(token);
  expect(Date.parse(second.expiresAt) - Date.parse(first.expiresAt)).toBe(500);
});
