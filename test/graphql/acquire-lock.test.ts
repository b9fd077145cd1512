import { expect, test } from 'vitest';
import { ACQUIRE, dataOf, expectBadInput, LIMITS, RELEASE, sharedApi, startApi } from './api.js';

const job = { resource: 'job:42', owner: 'A' };

/** For what is refused. */
const untouchedApi = sharedApi(startApi);

test('free: LockAcquired, not reacquired', async () => {
  const { run, time } = await startApi();
  const metadata = { host: 'h1', tags: [1, null] };
  const { acquireLock } = dataOf(await run(ACQUIRE, { input: { ...job, ttlMs: 5000, metadata } }));
  expect(acquireLock).toEqual({
    __typename: 'LockAcquired',
    reacquired: false,
    lock: {
      ...job,
      id: Buffer.from('Lock:job:42').toString('base64url'),
      fencingToken: '1',
      revision: '1',
      acquiredAt: new Date(time.wall).toISOString(),
      expiresAt: new Date(time.wall + 5000).toISOString(),
      remainingMs: 5000,
      metadata,
    },
  });
});

test('expired: LockAcquired, not reacquired, also for the former owner', async () => {
  const { run, time } = await startApi();
  await run(ACQUIRE, { input: { ...job, ttlMs: 1000 } });
  time.advance(1000);
  const { acquireLock } = dataOf(await run(ACQUIRE, { input: job }));
  expect(acquireLock).toMatchObject({ __typename: 'LockAcquired', reacquired: false, lock: { fencingToken: '3' } });
});

test('own lock: LockAcquired, reacquired, under a new token and without the old metadata', async () => {
  const { run } = await startApi();
  await run(ACQUIRE, { input: { ...job, metadata: 'old' } });
  const { acquireLock } = dataOf(await run(ACQUIRE, { input: job }));
  expect(acquireLock).toMatchObject({ reacquired: true, lock: { fencingToken: '2', metadata: null } });
});

test('own lock with reacquire: false: Conflict HELD_BY_SELF', async () => {
  const { run } = await startApi();
  await run(ACQUIRE, { input: job });
  const { acquireLock } = dataOf(await run(ACQUIRE, { input: { ...job, reacquire: false } }));
  expect(acquireLock).toMatchObject({ __typename: 'Conflict', reason: 'HELD_BY_SELF', current: { owner: 'A', fencingToken: '1' } });
});

test("another owner's: Conflict HELD_BY_ANOTHER, with the holder, until when, and when to come back", async () => {
  const { run, time } = await startApi();
  await run(ACQUIRE, { input: { ...job, ttlMs: 10_000 } });
  time.advance(4000);
  const { acquireLock } = dataOf(await run(ACQUIRE, { input: { ...job, owner: 'B' } }));
  expect(acquireLock).toMatchObject({
    __typename: 'Conflict',
    resource: 'job:42',
    reason: 'HELD_BY_ANOTHER',
    current: { owner: 'A' },
  });
  expect(acquireLock.message).toContain('held by "A" until 2026-01-01T00:00:10.000Z');
  expect(acquireLock.retryAfterMs).toBeGreaterThanOrEqual(6000);
  expect(acquireLock.retryAfterMs).toBeLessThanOrEqual(7000);
});

test('a known requestId whose acquisition is still held: that acquisition, and nothing changes', async () => {
  const { run } = await startApi();
  const input = { ...job, requestId: 'r1', ttlMs: 5000 };
  const first = dataOf(await run(ACQUIRE, { input }));
  const again = dataOf(await run(ACQUIRE, { input: { ...input, ttlMs: 9000, reacquire: false } }));
  expect(again).toEqual(first);
});

test('a known requestId whose acquisition has ended: Conflict REQUEST_SPENT', async () => {
  const { run } = await startApi();
  const input = { ...job, requestId: 'r1' };
  await run(ACQUIRE, { input });
  await run(RELEASE, { input: job });
  const { acquireLock } = dataOf(await run(ACQUIRE, { input }));
  expect(acquireLock).toMatchObject({ __typename: 'Conflict', reason: 'REQUEST_SPENT', current: null, retryAfterMs: null });
});

test('null counts as left out', async () => {
  const { run } = await startApi();
  const input = { ...job, ttlMs: null, requestId: null, reacquire: null, metadata: null };
  await run(ACQUIRE, { input });
  const { acquireLock } = dataOf(await run(ACQUIRE, { input }));
  expect(acquireLock).toMatchObject({ reacquired: true, lock: { remainingMs: LIMITS.defaultTtlMs, metadata: null } });
});

test('each of several mutations of one document is told the time after it', async () => {
  const { run, time, services } = await startApi();
  const acquire = services.engine.acquire.bind(services.engine);
  services.engine.acquire = (...asked) => {
    time.advance(1000);
    return acquire(...asked);
  };
  const field = (resource: string) =>
    `acquireLock(input: {resource: "${resource}", owner: "A", ttlMs: 5000}) { ... on LockAcquired { lock { remainingMs } } }`;
  expect(dataOf(await run(`mutation { a: ${field('a')} b: ${field('b')} }`))).toEqual({
    a: { lock: { remainingMs: 5000 } },
    b: { lock: { remainingMs: 5000 } },
  });
});

test.each([0, -1, LIMITS.maxTtlMs + 1, 2 ** 31 - 1])('ttlMs %i is refused with the limit, and takes no lock', async (ttlMs) => {
  const { run } = await untouchedApi();
  expectBadInput(await run(ACQUIRE, { input: { ...job, ttlMs } }), 'ttlMs', /from 1 to 86400000/);
  expect(dataOf(await run('{ locks { totalCount } }'))).toEqual({ locks: { totalCount: 0 } });
});

test.each([0.5, '1000', 2 ** 53, 8_640_000_000_000_001])('ttlMs %j can not be read, and is refused', async (ttlMs) => {
  const { run } = await untouchedApi();
  expectBadInput(await run(ACQUIRE, { input: { ...job, ttlMs } }), 'ttlMs', /Int cannot represent/);
});

test.each([1, LIMITS.maxTtlMs])('ttlMs %i is taken', async (ttlMs) => {
  const { run } = await startApi();
  expect(dataOf(await run(ACQUIRE, { input: { ...job, ttlMs } })).acquireLock.lock.remainingMs).toBe(ttlMs);
});

const TOO_LONG = 'x'.repeat(256);

test.each(['', ' ', ' x', 'x ', 'a\nb', '\ud800', TOO_LONG, 'x'.repeat(10_000)])(
  'the name %j is refused with the limit',
  async (name) => {
    const { run } = await untouchedApi();
    expectBadInput(await run(ACQUIRE, { input: { ...job, resource: name } }), 'resource', /1 to 255 Unicode code points/);
    expectBadInput(await run(ACQUIRE, { input: { ...job, owner: name } }), 'owner', /1 to 255 Unicode code points/);
    expectBadInput(await run(ACQUIRE, { input: { ...job, requestId: name } }), 'requestId', /1 to 255 Unicode code points/);
  },
);

test('names of the greatest length come back as they are, and differ in their last character', async () => {
  const { run } = await startApi();
  const names = ['😀'.repeat(255), `${'x'.repeat(254)}a`, `${'x'.repeat(254)}b`, 'x'];
  for (const resource of names) {
    const { acquireLock } = dataOf(await run(ACQUIRE, { input: { resource, owner: resource } }));
    expect(acquireLock).toMatchObject({ reacquired: false, lock: { resource, owner: resource } });
  }
});

test('metadata above 4096 bytes is refused with the limit', async () => {
  const { run } = await untouchedApi();
  expectBadInput(await run(ACQUIRE, { input: { ...job, metadata: 'x'.repeat(4095) } }), 'metadata', /4096 bytes/);
  expectBadInput(
    await run(`mutation { acquireLock(input: {resource: "r", owner: "A", metadata: "${'x'.repeat(4095)}"}) { __typename } }`),
    'metadata',
    /4096 bytes/,
  );
});
