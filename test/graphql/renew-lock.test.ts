import { expect, test } from 'vitest';
import { ACQUIRE, dataOf, expectBadInput, LIMITS, RENEW, sharedApi, startApi } from './api.js';

const job = { resource: 'job:42', owner: 'A' };

async function startHeld(ttlMs = 10_000) {
  const api = await startApi();
  await api.run(ACQUIRE, { input: { ...job, ttlMs } });
  const renew = async (input: object = {}) => dataOf(await api.run(RENEW, { input: { ...job, ...input } })).renewLock;
  return { ...api, renew };
}

/** For what is refused. */
const heldApi = sharedApi(startHeld);

test('no row: NotFound', async () => {
  const { renew } = await heldApi();
  expect(await renew({ resource: 'other' })).toMatchObject({ __typename: 'NotFound', resource: 'other' });
});

test.each(['A', 'B'])('the row has expired, asked by %s: Conflict EXPIRED', async (owner) => {
  const { renew, time } = await startHeld();
  time.advance(10_000);
  expect(await renew({ owner })).toMatchObject({ __typename: 'Conflict', reason: 'EXPIRED', current: null, retryAfterMs: null });
});

test("another owner's: Conflict HELD_BY_ANOTHER", async () => {
  const { renew } = await heldApi();
  expect(await renew({ owner: 'B' })).toMatchObject({ __typename: 'Conflict', reason: 'HELD_BY_ANOTHER', current: { owner: 'A' } });
});

test('own lock, but not that token: Conflict STALE_TOKEN', async () => {
  const { renew } = await heldApi();
  expect(await renew({ fencingToken: '7' })).toMatchObject({
    __typename: 'Conflict',
    reason: 'STALE_TOKEN',
    retryAfterMs: null,
    current: { fencingToken: '1' },
  });
});

test('else: LockRenewed, same token, by the TTL it was acquired with', async () => {
  const { renew, time } = await startHeld();
  const acquiredAt = new Date(time.wall).toISOString();
  time.advance(4000);
  expect(await renew({ fencingToken: '1', ttlMs: null })).toEqual({
    __typename: 'LockRenewed',
    lock: {
      fencingToken: '1',
      revision: '2',
      acquiredAt,
      expiresAt: new Date(time.wall + 10_000).toISOString(),
      remainingMs: 10_000,
    },
  });
});

test('a shorter TTL never brings expiresAt forward', async () => {
  const { renew } = await startHeld();
  expect(await renew({ ttlMs: 1 })).toMatchObject({ __typename: 'LockRenewed', lock: { remainingMs: 10_000 } });
});

test.each([0, -5, LIMITS.maxTtlMs + 1])('ttlMs %i is refused with the limit', async (ttlMs) => {
  const { run } = await heldApi();
  expectBadInput(await run(RENEW, { input: { ...job, ttlMs } }), 'ttlMs', /from 1 to 86400000/);
});

test('what is no name or no token is refused', async () => {
  const { run } = await heldApi();
  expectBadInput(await run(RENEW, { input: { ...job, resource: ' ' } }), 'resource');
  expectBadInput(await run(RENEW, { input: { ...job, owner: '' } }), 'owner');
  expectBadInput(await run(RENEW, { input: { ...job, fencingToken: '9223372036854775808' } }), 'fencingToken', /from 0 to/);
});
