import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { ManualTime } from '../support/manual-time.js';
import { isSoak, timeLimit } from '../support/rounds.js';
import { ApiError, lockOf } from './lock-api.js';
import { Session } from './session.js';

/** The longest that can be allowed at all, and the longest delay that Node's timers take: 24.8 days. */
const MAX_TTL_MS = 2_147_483_647;
const WATCHED_MS = isSoak ? 10_000 : 2_000;

const env = { MAX_TTL_MS: String(MAX_TTL_MS) };

/** The warnings of this process, in which the service runs; Node warns of a timer that it cuts to 1 ms. */
function collectWarnings(): string[] {
  const warnings: string[] = [];
  const collect = ({ name }: Error) => void warnings.push(name);
  process.on('warning', collect);
  onTestFinished(() => void process.off('warning', collect));
  return warnings;
}

test(
  'a lock of the longest TTL is still held after a while: no expiry, no busy loop, no timer that fires at once',
  { timeout: timeLimit(60_000) },
  async () => {
    const warnings = collectWarnings();
    const session = await Session.open((await startTestApp({ env })).url);
    const { api } = session;
    const watch = await session.watch();
    const lock = lockOf(await api.acquire('r', 'A', { ttlMs: MAX_TTL_MS }));
    await watch.reach('1');
    const started = process.cpuUsage();
    // Nothing is to happen in this time, so there is nothing to wait for.
    await sleep(WATCHED_MS);
    const { user, system } = process.cpuUsage(started);

    expect(await api.lock('r')).toEqual(lock);
    expect(watch.events.map(({ type }) => type)).toEqual(['ACQUIRED']);
    expect((user + system) / 1_000).toBeLessThan(WATCHED_MS / 2);
    expect(warnings).not.toContain('TimeoutOverflowWarning');
  },
);

test('a lock of the longest TTL expires at the millisecond at which it is to', async () => {
  const time = new ManualTime();
  const session = await Session.open((await startTestApp({ env, time })).url);
  const watch = await session.watch();
  const lock = lockOf(await session.api.acquire('r', 'A', { ttlMs: MAX_TTL_MS }));
  time.advance(MAX_TTL_MS - 1);
  expect(await session.api.lock('r')).toEqual(lock);
  time.advance(1);
  expect(await session.api.lock('r')).toBeNull();
  await watch.until(() => watch.events.some(({ type, at }) => type === 'EXPIRED' && at === lock.expiresAt));
});

test.each([MAX_TTL_MS + 1, 2_592_000_000])('a TTL of %i ms, above what timers take, is refused', async (ttlMs) => {
  const { api } = await Session.open((await startTestApp({ env })).url);
  await expect(api.acquire('r', 'A', { ttlMs })).rejects.toMatchObject({
    constructor: ApiError,
    extensions: { code: 'BAD_USER_INPUT', argument: 'ttlMs' },
  });
  expect(await api.locks()).toEqual([]);
});
