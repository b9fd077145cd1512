import { expect, test } from 'vitest';
import { ACQUIRE, dataOf, expectBadInput, RELEASE, sharedApi, startApi } from './api.js';

const job = { resource: 'job:42', owner: 'A' };

/** For what is refused. */
const untouchedApi = sharedApi(startApi);

async function startHeld(ttlMs = 30_000) {
  const api = await startApi();
  await api.run(ACQUIRE, { input: { ...job, ttlMs } });
  const release = async (input: object) => dataOf(await api.run(RELEASE, { input: { ...job, ...input } })).releaseLock;
  return { ...api, release };
}

const heldApi = sharedApi(startHeld);

test.each([undefined, null, '1', 1])('own lock, token %j: LockReleased, and the lock is free', async (fencingToken) => {
  const { run, release, time } = await startHeld();
  expect(await release({ fencingToken })).toEqual({
    __typename: 'LockReleased',
    lockId: Buffer.from('Lock:job:42').toString('base64url'),
    resource: 'job:42',
    fencingToken: '1',
    releasedAt: new Date(time.wall).toISOString(),
    revision: '2',
  });
  expect(dataOf(await run('{ lock(resource: "job:42") { owner } }'))).toEqual({ lock: null });
});

test('a token known as released: the same answer again, and nothing changes', async () => {
  const { run, release, time } = await startHeld();
  const first = await release({ fencingToken: '1' });
  await run(ACQUIRE, { input: { ...job, owner: 'B' } });
  time.advance(5000);
  expect(await release({ fencingToken: '1' })).toEqual(first);
  expect(dataOf(await run('{ lock(resource: "job:42") { owner } }'))).toEqual({ lock: { owner: 'B' } });
});

test('nothing held, no row: NotFound', async () => {
  const { release } = await heldApi();
  expect(await release({ resource: 'other' })).toMatchObject({ __typename: 'NotFound', resource: 'other' });
});

test('nothing held, expired: NotFound', async () => {
  const { release, time } = await startHeld(1000);
  time.advance(1000);
  expect(await release({})).toMatchObject({ __typename: 'NotFound', resource: 'job:42' });
});

test.each([null, '1', '7'])('another owner holds it, token %j: Forbidden, with the holder', async (fencingToken) => {
  const { release } = await heldApi();
  const refused = await release({ owner: 'B', fencingToken });
  expect(refused).toMatchObject({ __typename: 'Forbidden', resource: 'job:42', current: { owner: 'A' } });
  expect(refused.message).toContain('held by "A"');
});

test('own lock, but not that token: Conflict STALE_TOKEN, and nothing changes', async () => {
  const { run, release } = await startHeld();
  await run(ACQUIRE, { input: job });
  expect(await release({ fencingToken: '1' })).toMatchObject({
    __typename: 'Conflict',
    reason: 'STALE_TOKEN',
    retryAfterMs: null,
    current: { owner: 'A', fencingToken: '2' },
  });
  expect(dataOf(await run('{ lock(resource: "job:42") { fencingToken } }'))).toEqual({ lock: { fencingToken: '2' } });
});

test.each(['-1', '9223372036854775808', 1.5, 'x'])('token %j is refused', async (fencingToken) => {
  const { run } = await untouchedApi();
  expectBadInput(await run(RELEASE, { input: { ...job, fencingToken } }), 'fencingToken');
});

test.each(['-1', '9223372036854775808'])('the literal token %s is refused with the limit', async (token) => {
  const { run } = await untouchedApi();
  const document = `mutation { releaseLock(input: {resource: "r", owner: "A", fencingToken: ${token}}) { __typename } }`;
  expectBadInput(await run(document), 'fencingToken', /from 0 to 9223372036854775807/);
});

test('a literal token that can not be read is refused, naming the argument', async () => {
  const { run } = await untouchedApi();
  expectBadInput(
    await run('mutation { releaseLock(input: {resource: "r", owner: "A", fencingToken: 1.5}) { __typename } }'),
    'fencingToken',
    /whole number/,
  );
});

test('a name that is none is refused', async () => {
  const { run } = await untouchedApi();
  expectBadInput(await run(RELEASE, { input: { ...job, resource: '' } }), 'resource');
  expectBadInput(await run(RELEASE, { input: { ...job, owner: '' } }), 'owner');
});
