import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { ManualTime } from '../support/manual-time.js';
import { brief } from './log-checks.js';
import { httpApi, lockOf, tokenOf } from './lock-api.js';
import { Session } from './session.js';

test('a release or renewal that comes late, by the token of an earlier acquisition, never touches the newer one', async () => {
  const time = new ManualTime();
  const api = httpApi((await startTestApp({ time })).url);
  const first = tokenOf(await api.acquire('job/1', 'A', { ttlMs: 1_000 }));
  time.advance(1_500);
  const newer = lockOf(await api.acquire('job/1', 'A', { ttlMs: 60_000 }));
  expect(BigInt(newer.fencingToken)).toBeGreaterThan(BigInt(first));

  expect(await api.release('job/1', 'A', first)).toMatchObject({ __typename: 'Conflict', reason: 'STALE_TOKEN', current: newer });
  expect(await api.renew('job/1', 'A', { ttlMs: 600_000, fencingToken: first })).toMatchObject({
    __typename: 'Conflict',
    reason: 'STALE_TOKEN',
    current: newer,
  });
  expect(await api.lock('job/1')).toEqual(newer);
  expect(await api.acquire('job/1', 'B')).toMatchObject({ __typename: 'Conflict', reason: 'HELD_BY_ANOTHER', current: newer });
  expect((await api.release('job/1', 'A', newer.fencingToken)).__typename).toBe('LockReleased');
  expect(await api.lock('job/1')).toBeNull();
});

describe('two workers of one owner', () => {
  test.each(['in parallel on two connections', 'one after the other'])(
    'that acquire %s both get the lock, and the token of the first is dead',
    async (how) => {
      const { url } = await startTestApp();
      const [one, other] = [(await Session.open(url)).api, (await Session.open(url)).api];
      const acquires = [() => one.acquire('r', 'A', { ttlMs: 60_000 }), () => other.acquire('r', 'A', { ttlMs: 60_000 })] as const;
      const answers =
        how === 'one after the other'
          ? [await acquires[0](), await acquires[1]()]
          : await Promise.all([acquires[0](), acquires[1]()]);
      // Of two in parallel either may be first.
      const [first, second] = answers.sort((a, b) => Number(BigInt(tokenOf(a)) - BigInt(tokenOf(b))));
      if (first === undefined || second === undefined) throw new Error('Both are answered');
      expect([first.reacquired, second.reacquired]).toEqual([false, true]);
      expect(BigInt(tokenOf(second))).toBeGreaterThan(BigInt(tokenOf(first)));

      const stale = { __typename: 'Conflict', reason: 'STALE_TOKEN', current: second.lock };
      expect(await one.release('r', 'A', tokenOf(first))).toMatchObject(stale);
      expect(await one.renew('r', 'A', { fencingToken: tokenOf(first) })).toMatchObject(stale);
      expect(await one.lock('r')).toEqual(second.lock);

      const released = await other.release('r', 'A', tokenOf(second));
      expect(released).toMatchObject({ __typename: 'LockReleased', fencingToken: tokenOf(second) });
      expect(await other.release('r', 'A', tokenOf(second))).toEqual(released);
      expect((await other.release('r', 'A')).__typename).toBe('NotFound');
      expect((await one.events()).map(brief)).toEqual(['ACQUIRED r A', 'ACQUIRED r A', 'RELEASED r A']);
    },
  );

  test('that ask not to re-acquire exclude each other', async () => {
    const { url } = await startTestApp();
    const sessions = await Promise.all(Array.from({ length: 2 }, () => Session.open(url)));
    const answers = await Promise.all(sessions.map(({ api }) => api.acquire('r', 'A', { reacquire: false })));
    const winner = answers.find(({ __typename: typename }) => typename === 'LockAcquired');
    const loser = answers.find(({ __typename: typename }) => typename === 'Conflict');
    expect(winner).toMatchObject({ reacquired: false, lock: { owner: 'A' } });
    expect(loser).toMatchObject({ reason: 'HELD_BY_SELF', current: winner?.lock });
  });
});
