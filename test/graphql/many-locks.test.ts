import { expect, test } from 'vitest';
import { acquire, release } from '../support/commands.js';
import { historyOf, inLine } from '../support/waiting.js';
import { dataOf, expectBadInput, LIMITS, startApi } from './api.js';

const ACQUIRE_ALL = `mutation ($input: AcquireLocksInput!) { acquireLocks(input: $input) { __typename
  ... on LocksAcquired { locks { resource owner fencingToken remainingMs metadata } }
  ... on Conflict { resource reason message retryAfterMs current { owner } blockedBy { resource owner } } } }`;
const RENEW_ALL = 'mutation ($input: RenewLocksInput!) { renewLocks(input: $input) { locks { resource remainingMs } lost } }';
const RELEASE_ALL = `mutation ($input: ReleaseLocksInput!) {
  releaseLocks(input: $input) { released { resource fencingToken } notHeld } }`;

const many = { resources: ['y', 'x'], owner: 'A' };

test('all free: LocksAcquired, in the order in which they were asked for, each under a token of its own', async () => {
  const { run } = await startApi();
  const { acquireLocks } = dataOf(await run(ACQUIRE_ALL, { input: { ...many, ttlMs: 5000, metadata: { host: 'h' } } }));
  expect(acquireLocks).toEqual({
    __typename: 'LocksAcquired',
    locks: [
      { resource: 'y', owner: 'A', fencingToken: '1', remainingMs: 5000, metadata: { host: 'h' } },
      { resource: 'x', owner: 'A', fencingToken: '2', remainingMs: 5000, metadata: { host: 'h' } },
    ],
  });
});

test('some held: Conflict that names all that stand in the way, and none is taken', async () => {
  const { run, engine, databaseUrl } = await startApi();
  await engine.submit(acquire('y', 'B'));
  await engine.submit(acquire('z', 'C'));
  const { acquireLocks } = dataOf(await run(ACQUIRE_ALL, { input: { ...many, resources: ['x', 'y', 'z'] } }));
  expect(acquireLocks).toMatchObject({
    __typename: 'Conflict',
    resource: 'y',
    reason: 'HELD_BY_ANOTHER',
    current: { owner: 'B' },
    blockedBy: [
      { resource: 'y', owner: 'B' },
      { resource: 'z', owner: 'C' },
    ],
  });
  expect(acquireLocks.retryAfterMs).toBeGreaterThanOrEqual(30_000);
  expect(await historyOf(databaseUrl, 'x')).toEqual([]);
});

test('of a conflict about one lock, blockedBy is that lock', async () => {
  const { run, engine } = await startApi();
  await engine.submit(acquire('x', 'B'));
  const query = `mutation { acquireLock(input: { resource: "x", owner: "A" }) { ... on Conflict { blockedBy { owner } } }
    renewLock(input: { resource: "x", owner: "A" }) { ... on Conflict { reason blockedBy { owner } } } }`;
  expect(dataOf(await run(query))).toEqual({
    acquireLock: { blockedBy: [{ owner: 'B' }] },
    renewLock: { reason: 'HELD_BY_ANOTHER', blockedBy: [{ owner: 'B' }] },
  });
});

test('some held, with waitMs: LocksAcquired as soon as all are free', async () => {
  const { run, engine, databaseUrl } = await startApi();
  await engine.submit(acquire('x', 'B'));
  const waiting = run(ACQUIRE_ALL, { input: { ...many, waitMs: 60_000 } });
  await inLine(databaseUrl, 2);
  await engine.submit(release('x', 'B'));
  expect(dataOf(await waiting).acquireLocks).toMatchObject({
    __typename: 'LocksAcquired',
    locks: [{ resource: 'y' }, { resource: 'x' }],
  });
});

test('a requestId that is known for all of them: the same acquisitions again', async () => {
  const { run } = await startApi();
  const input = { ...many, requestId: 'q' };
  const first = dataOf(await run(ACQUIRE_ALL, { input }));
  expect(dataOf(await run(ACQUIRE_ALL, { input }))).toEqual(first);
});

test.each([
  ['for some of them only', async () => undefined, { ...many, resources: ['z', 'x', 'y'] }, 'x'],
  [
    'for one that has ended',
    (engine: { submit: (command: ReturnType<typeof release>) => Promise<unknown> }) => engine.submit(release('x', 'A')),
    many,
    'y',
  ],
])('a requestId that is known %s: Conflict REQUEST_SPENT, and nothing changes', async (_when, change, again, resource) => {
  const { run, engine } = await startApi();
  await run(ACQUIRE_ALL, { input: { ...many, requestId: 'q' } });
  await change(engine);
  const { revision } = await engine.head();
  const { acquireLocks } = dataOf(await run(ACQUIRE_ALL, { input: { ...again, requestId: 'q' } }));
  expect(acquireLocks).toMatchObject({ __typename: 'Conflict', reason: 'REQUEST_SPENT', resource, retryAfterMs: null });
  expect((await engine.head()).revision).toBe(revision);
});

test('one held by the same owner, with reacquire: false: Conflict HELD_BY_SELF', async () => {
  const { run, engine } = await startApi();
  await engine.submit(acquire('x', 'A'));
  const { acquireLocks } = dataOf(await run(ACQUIRE_ALL, { input: { ...many, reacquire: false } }));
  expect(acquireLocks).toMatchObject({ reason: 'HELD_BY_SELF', resource: 'x' });
});

test('names that are none, too many, too few or doubled are refused, and so is what no acquireLock takes', async () => {
  const { run, databaseUrl } = await startApi();
  const refused = (input: object, argument: string, message: RegExp) =>
    run(ACQUIRE_ALL, { input: { ...many, ...input } }).then((answer) => expectBadInput(answer, argument, message));
  await refused({ resources: [] }, 'resources', /must name 1 to 1000 locks/);
  await refused({ resources: Array.from({ length: 1001 }, (_, n) => `r:${n}`) }, 'resources', /must name 1 to 1000 locks/);
  await refused({ resources: ['x', 'y', 'x'] }, 'resources', /must not name "x" twice/);
  await refused({ resources: ['x', ' y'] }, 'resources', /resources must be 1 to 255/);
  await refused({ owner: '' }, 'owner', /owner must be/);
  await refused({ requestId: '' }, 'requestId', /requestId must be/);
  await refused({ ttlMs: 0 }, 'ttlMs', /from 1 to 86400000/);
  await refused({ waitMs: LIMITS.maxWaitMs + 1 }, 'waitMs', /from 0 to 300000/);
  expect(await historyOf(databaseUrl, 'x')).toEqual([]);
});

test('1000 locks are taken, renewed and released, each in one call', async () => {
  const { run } = await startApi();
  const resources = Array.from({ length: 1000 }, (_, n) => `r:${n}`);
  expect(dataOf(await run(ACQUIRE_ALL, { input: { ...many, resources } })).acquireLocks.locks).toHaveLength(1000);
  const locks = resources.map((resource) => ({ resource }));
  expect(dataOf(await run(RENEW_ALL, { input: { owner: 'A', locks } })).renewLocks.locks).toHaveLength(1000);
  expect(dataOf(await run(RELEASE_ALL, { input: { owner: 'A' } })).releaseLocks.released).toHaveLength(1000);
});

test('renewLocks renews all that the owner holds, or what is named, and tells what is lost', async () => {
  const { run, engine, time } = await startApi();
  await run(ACQUIRE_ALL, { input: { ...many, ttlMs: 5000 } });
  await engine.submit(acquire('z', 'B'));
  time.advance(4000);
  expect(dataOf(await run(RENEW_ALL, { input: { owner: 'A', locks: null, upTo: null, ttlMs: null } })).renewLocks).toEqual({
    locks: [
      { resource: 'x', remainingMs: 5000 },
      { resource: 'y', remainingMs: 5000 },
    ],
    lost: [],
  });
  const locks = [{ resource: 'x', fencingToken: '2' }, { resource: 'y', fencingToken: '2' }, { resource: 'z' }];
  expect(dataOf(await run(RENEW_ALL, { input: { owner: 'A', locks, ttlMs: 9000 } })).renewLocks).toEqual({
    locks: [{ resource: 'x', remainingMs: 9000 }],
    lost: ['y', 'z'],
  });
});

test('releaseLocks releases all that the owner holds up to a token, or what is named, and a retry gets the same answer', async () => {
  const { run, engine } = await startApi();
  await run(ACQUIRE_ALL, { input: many });
  await engine.submit(acquire('z', 'A'));
  expect(dataOf(await run(RELEASE_ALL, { input: { owner: 'A', upTo: '1' } })).releaseLocks).toEqual({
    released: [{ resource: 'y', fencingToken: '1' }],
    notHeld: [],
  });
  const locks = [{ resource: 'x', fencingToken: '2' }, { resource: 'z', fencingToken: '2' }, { resource: 'free' }];
  const first = dataOf(await run(RELEASE_ALL, { input: { owner: 'A', locks } }));
  expect(first.releaseLocks).toEqual({ released: [{ resource: 'x', fencingToken: '2' }], notHeld: ['z', 'free'] });
  expect(dataOf(await run(RELEASE_ALL, { input: { owner: 'A', locks } }))).toEqual(first);
});

test.each([RENEW_ALL, RELEASE_ALL])('what is named wrongly is refused: %s', async (mutation) => {
  const { run } = await startApi();
  const refused = (input: object, argument: string, message: RegExp) =>
    run(mutation, { input: { owner: 'A', ...input } }).then((answer) => expectBadInput(answer, argument, message));
  await refused({ locks: [{ resource: 'x' }], upTo: '5' }, 'upTo', /only where locks is left out/);
  await refused({ upTo: '-1' }, 'upTo', /from 0 to/);
  await refused({ locks: [] }, 'locks', /must name 1 to 1000 locks/);
  await refused({ locks: [{ resource: 'x' }, { resource: 'x', fencingToken: '1' }] }, 'locks', /must not name "x" twice/);
  await refused({ locks: [{ resource: '' }] }, 'locks', /locks must be 1 to 255/);
  await refused({ locks: [{ resource: 'x', fencingToken: '9223372036854775808' }] }, 'fencingToken', /from 0 to/);
  await refused({ owner: ' ' }, 'owner', /owner must be/);
});
