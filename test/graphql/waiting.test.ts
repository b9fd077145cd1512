import { expect, test } from 'vitest';
import { acquire, release } from '../support/commands.js';
import { historyOf, inLine, wait, waitForAll } from '../support/waiting.js';
import { ACQUIRE, dataOf, expectBadInput, LIMITS, RELEASE, startApi } from './api.js';

const job = { resource: 'job:42', owner: 'B' };

test('held: with waitMs it is LockAcquired as soon as the holder releases', async () => {
  const { run, databaseUrl } = await startApi();
  await run(ACQUIRE, { input: { ...job, owner: 'A' } });
  const waiting = run(ACQUIRE, { input: { ...job, waitMs: 60_000 } });
  await inLine(databaseUrl, 1);
  await run(RELEASE, { input: { ...job, owner: 'A' } });
  expect(dataOf(await waiting).acquireLock).toMatchObject({
    __typename: 'LockAcquired',
    reacquired: false,
    lock: { owner: 'B', fencingToken: '3', remainingMs: LIMITS.defaultTtlMs },
  });
});

test('held for longer than waitMs: Conflict WAIT_TIMEOUT, with the holder and when to come back', async () => {
  const { run } = await startApi();
  await run(ACQUIRE, { input: { ...job, owner: 'A', ttlMs: 10_000 } });
  const { acquireLock } = dataOf(await run(ACQUIRE, { input: { ...job, waitMs: 50 } }));
  expect(acquireLock).toMatchObject({
    __typename: 'Conflict',
    reason: 'WAIT_TIMEOUT',
    resource: 'job:42',
    current: { owner: 'A', fencingToken: '1' },
  });
  expect(acquireLock.message).toBe('"job:42" is held by "A" until 2026-01-01T00:00:10.000Z: waitMs has passed.');
  expect(acquireLock.retryAfterMs).toBeGreaterThanOrEqual(10_000);
  expect(acquireLock.retryAfterMs).toBeLessThanOrEqual(11_000);
});

test.each([0, null])('waitMs %j: one try, and an answer at once', async (waitMs) => {
  const { run, databaseUrl } = await startApi();
  await run(ACQUIRE, { input: { ...job, owner: 'A', waitMs } });
  const { acquireLock } = dataOf(await run(ACQUIRE, { input: { ...job, waitMs, detectDeadlock: null } }));
  expect(acquireLock).toMatchObject({ __typename: 'Conflict', reason: 'HELD_BY_ANOTHER' });
  expect(acquireLock.message).toContain('or stand in line with waitMs');
  expect(await historyOf(databaseUrl, 'job:42')).toEqual(['ACQUIRED A']);
});

test('waitMs out of its limits is refused with them, and one that is no Int can not be read', async () => {
  const { run, databaseUrl } = await startApi();
  for (const waitMs of [-1, LIMITS.maxWaitMs + 1, 2 ** 31 - 1]) {
    expectBadInput(await run(ACQUIRE, { input: { ...job, waitMs } }), 'waitMs', /waitMs must be from 0 to 300000 milliseconds/);
  }
  for (const waitMs of [0.5, '1000', 2 ** 31, 1e12]) {
    expectBadInput(await run(ACQUIRE, { input: { ...job, waitMs } }), 'waitMs', /Int cannot represent/);
  }
  expect(await historyOf(databaseUrl, 'job:42')).toEqual([]);
});

test('a wait that would close a circle: Conflict DEADLOCK, whose message names it', async () => {
  const { run, engine, databaseUrl } = await startApi();
  await engine.submit(acquire('x', 'A'));
  await engine.submit(acquire('y', 'B'));
  const waiting = wait(engine, 'y', 'A');
  await inLine(databaseUrl, 1);
  const input = { resource: 'x', owner: 'B', waitMs: 60_000, detectDeadlock: true };
  const { acquireLock } = dataOf(await run(ACQUIRE, { input }));
  expect(acquireLock).toMatchObject({ __typename: 'Conflict', reason: 'DEADLOCK', resource: 'x', current: { owner: 'A' } });
  expect(acquireLock.message).toBe(
    'To wait for "x" would close a circle, in which nobody gets on: "B" would wait for "x", which "A" holds or gets first; "A" would wait for "y", which "B" holds or gets first.',
  );
  await engine.submit(release('y', 'B'));
  await waiting;
});

test('a lock that nobody holds but others stand in line for: Conflict without a holder, and a moment to come back', async () => {
  const { run, engine, databaseUrl } = await startApi();
  await engine.submit(acquire('y', 'A'));
  const waiting = waitForAll(engine, ['x', 'y'], 'C');
  await inLine(databaseUrl, 2);
  const { acquireLock } = dataOf(await run(ACQUIRE, { input: { resource: 'x', owner: 'B' } }));
  expect(acquireLock).toMatchObject({ reason: 'HELD_BY_ANOTHER', current: null });
  expect(acquireLock.message).toContain('is kept for those who stand in line for it');
  expect(acquireLock.retryAfterMs).toBeGreaterThanOrEqual(1000);
  await engine.submit(release('y', 'A'));
  await waiting;
});

test('a request whose place is taken over: UNAVAILABLE, and not known whether it was applied', async () => {
  const { run, engine, databaseUrl } = await startApi();
  await engine.submit(acquire('job:42', 'A'));
  const input = { ...job, requestId: 'q', waitMs: 60_000 };
  const earlier = run(ACQUIRE, { input });
  await inLine(databaseUrl, 1);
  const repeated = run(ACQUIRE, { input });
  const { errors } = await earlier;
  expect(errors.map(({ extensions }) => extensions)).toEqual([{ code: 'UNAVAILABLE', retryable: true }]);
  await engine.submit(release('job:42', 'A'));
  expect(dataOf(await repeated).acquireLock).toMatchObject({ __typename: 'LockAcquired' });
});

test('queueLength tells how many stand in line, with one read for a whole page', async () => {
  const { run, engine, databaseUrl, services } = await startApi();
  for (const resource of ['x', 'y', 'z']) await engine.submit(acquire(resource, 'A'));
  const waiting = [wait(engine, 'x', 'B'), wait(engine, 'x', 'C'), wait(engine, 'z', 'B')];
  await inLine(databaseUrl, 3);
  let reads = 0;
  const prisma = services.prisma as { lockTicket: { findFirst: (...asked: unknown[]) => unknown } };
  const { findFirst } = prisma.lockTicket;
  prisma.lockTicket.findFirst = (...asked) => {
    reads++;
    return findFirst(...asked);
  };
  const { locks } = dataOf(await run('{ locks { edges { node { resource queueLength } } } }'));
  expect(locks.edges.map(({ node }: { node: object }) => node)).toEqual([
    { resource: 'x', queueLength: 2 },
    { resource: 'y', queueLength: 0 },
    { resource: 'z', queueLength: 1 },
  ]);
  expect(reads).toBe(1);
  await engine.releaseAll({ owner: 'A', locks: null, upTo: null });
  await Promise.all(waiting.slice(0, 1));
  await engine.submit(release('x', 'B'));
  await Promise.all(waiting);
});
