import type { ExecutionResult } from 'graphql';
import { expect, test } from 'vitest';
import { acquire, release } from '../support/commands.js';
import { dataOf, expectBadInput, LIMITS, startApi, type Api } from './api.js';

const HOLD = `subscription ($input: HoldLockInput!) { holdLock(input: $input) { __typename
  ... on LockQueued { resource position deadline }
  ... on LockAcquired { reacquired lock { owner fencingToken remainingMs metadata queueLength } }
  ... on LockRenewed { lock { fencingToken remainingMs } }
  ... on LockLost { resource fencingToken cause }
  ... on Conflict { resource reason current { owner } } } }`;
const job = { resource: 'r', owner: 'A' };

async function hold(api: Api, input: object): Promise<{ stream: AsyncGenerator<ExecutionResult>; next: () => Promise<any> }> {
  const stream = await api.watch(HOLD, { input });
  if (!(Symbol.asyncIterator in stream)) throw new Error(stream.errors.map(String).join());
  const next = async () => {
    const { value, done } = await stream.next();
    return done === true ? 'the end' : dataOf({ data: null, errors: [], ...value }).holdLock;
  };
  return { stream, next };
}

test('a lock that is free: LockAcquired; released elsewhere: LockLost, and the end', async () => {
  const api = await startApi();
  const { next } = await hold(api, { ...job, ttlMs: null, waitMs: null, fencingToken: null, metadata: { n: 1 } });
  expect(await next()).toEqual({
    __typename: 'LockAcquired',
    reacquired: false,
    lock: { owner: 'A', fencingToken: '1', remainingMs: LIMITS.defaultTtlMs, metadata: { n: 1 }, queueLength: 0 },
  });
  await api.engine.submit(release('r', 'A'));
  expect(await next()).toEqual({ __typename: 'LockLost', resource: 'r', fencingToken: '1', cause: 'RELEASED' });
  expect(await next()).toBe('the end');
});

test('held by another: LockQueued with the place and until when, then LockAcquired', async () => {
  const api = await startApi();
  await api.engine.submit(acquire('r', 'B'));
  const { stream, next } = await hold(api, { ...job, waitMs: 60_000 });
  const deadline = new Date(api.time.wall + 60_000).toISOString();
  expect(await next()).toEqual({ __typename: 'LockQueued', resource: 'r', position: 1, deadline });
  await api.engine.submit(release('r', 'B'));
  expect(await next()).toMatchObject({ __typename: 'LockAcquired', lock: { fencingToken: '3' } });
  await stream.return(undefined);
});

test('held by another, with waitMs 0: Conflict, and the end', async () => {
  const api = await startApi();
  await api.engine.submit(acquire('r', 'B'));
  const { next } = await hold(api, { ...job, waitMs: 0 });
  expect(await next()).toEqual({ __typename: 'Conflict', resource: 'r', reason: 'HELD_BY_ANOTHER', current: { owner: 'B' } });
  expect(await next()).toBe('the end');
});

test('with the token of what it holds: LockRenewed', async () => {
  const api = await startApi();
  await api.engine.submit(acquire('r', 'A', { ttlMs: 1000 }));
  const { stream, next } = await hold(api, { ...job, fencingToken: '1', ttlMs: 5000 });
  expect(await next()).toEqual({ __typename: 'LockRenewed', lock: { fencingToken: '1', remainingMs: 5000 } });
  await stream.return(undefined);
});

test('what is not allowed is refused before anything is done', async () => {
  const api = await startApi();
  const wrong = [
    ['resource', { resource: '' }],
    ['owner', { owner: 'x'.repeat(256) }],
    ['ttlMs', { ttlMs: 0 }],
    ['ttlMs', { ttlMs: LIMITS.maxTtlMs + 1 }],
    ['waitMs', { waitMs: -1 }],
    ['waitMs', { waitMs: LIMITS.maxWaitMs + 1 }],
    ['fencingToken', { fencingToken: '-1' }],
  ] as const;
  for (const [argument, input] of wrong) {
    const answer = await api.watch(HOLD, { input: { ...job, ...input } });
    if (Symbol.asyncIterator in answer) throw new Error(`${argument} was accepted`);
    expectBadInput(answer, argument);
  }
  expect((await api.engine.head()).revision).toBe(0n);
});
