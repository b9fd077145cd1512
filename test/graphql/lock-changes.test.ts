import type { ExecutionResult } from 'graphql';
import { expect, onTestFinished, test } from 'vitest';
import { acquire, release } from '../support/commands.js';
import { expectBadInput, sharedApi, startApi, type Api } from './api.js';

const WATCH = `subscription ($filter: LockWatchFilter, $after: BigInt, $logId: ID, $snapshot: Boolean) {
  lockChanges(filter: $filter, after: $after, logId: $logId, snapshot: $snapshot) { __typename
    ... on LockSnapshot { logId revision reason part complete locks { resource remainingMs revision } }
    ... on LockEvent { revision type resource lock { owner remainingMs } }
    ... on LockBookmark { logId revision } } }`;

/** For what is refused, or watches only. */
const untouchedApi = sharedApi(startApi);

async function watch(api: Api, variables: Record<string, unknown> = {}) {
  const stream = await api.watch(WATCH, variables);
  if (!(Symbol.asyncIterator in stream)) throw new Error(JSON.stringify(stream.errors));
  onTestFinished(async () => {
    await stream.return(undefined);
  });
  return { stream, next: async () => changeOf(await stream.next()) };
}

function changeOf({ value }: IteratorResult<ExecutionResult>) {
  const { data, errors } = value as ExecutionResult;
  expect(errors).toBeUndefined();
  return data?.lockChanges;
}

test('a watch begins with what is held, and goes on with what happens', async () => {
  const api = await startApi();
  const { logId } = await api.engine.head();
  await api.engine.submit(acquire('a', 'A', { ttlMs: 5000 }));
  api.time.advance(1000);
  const { next } = await watch(api);
  expect(await next()).toEqual({
    __typename: 'LockSnapshot',
    logId,
    revision: '1',
    reason: 'STARTED',
    part: 1,
    complete: true,
    locks: [{ resource: 'a', remainingMs: 4000, revision: '1' }],
  });
  await api.engine.submit(release('a', 'A'));
  expect(await next()).toEqual({ __typename: 'LockEvent', revision: '2', type: 'RELEASED', resource: 'a', lock: null });
});

test('each change is told with the time of its own moment', async () => {
  const api = await startApi();
  const { next } = await watch(api);
  await next();
  for (const resource of ['a', 'b']) {
    await api.engine.submit(acquire(resource, 'A', { ttlMs: 5000 }));
    expect(await next()).toMatchObject({ resource, lock: { owner: 'A', remainingMs: 5000 } });
    api.time.advance(3000);
  }
});

test('a change between the subscribe and the first item that is taken is not missed', async () => {
  const api = await startApi();
  const { next } = await watch(api, { snapshot: false });
  await api.engine.submit(acquire('a', 'A'));
  expect(await next()).toMatchObject({ __typename: 'LockBookmark', revision: '0' });
  expect(await next()).toMatchObject({ __typename: 'LockEvent', revision: '1' });
});

test('snapshot: null counts as left out', async () => {
  const { next } = await watch(await untouchedApi(), { snapshot: null, filter: null, after: null, logId: null });
  expect(await next()).toMatchObject({ __typename: 'LockSnapshot', reason: 'STARTED' });
});

test('a watch resumes after the revision that is named', async () => {
  const api = await startApi();
  const { logId } = await api.engine.head();
  for (const resource of ['a', 'b', 'c']) await api.engine.submit(acquire(resource, 'A'));
  const { next } = await watch(api, { after: '1', logId });
  expect(await next()).toMatchObject({ revision: '2' });
  expect(await next()).toMatchObject({ revision: '3' });
});

test.each([{ after: '9' }, { after: '0', logId: 'another' }])(
  'what belongs to another history is told by a RESET: %j',
  async (from) => {
    const { next } = await watch(await untouchedApi(), from);
    expect(await next()).toMatchObject({ __typename: 'LockSnapshot', reason: 'RESET' });
  },
);

test.each([
  ['resource', { resource: 'c\\d/1' }],
  ['prefix', { prefix: 'c\\' }],
  ['owner', { owner: 'c\\d/1' }],
  ['types', { types: ['RELEASED'] }],
])('a watch is narrowed by %s', async (_, filter) => {
  const api = await startApi();
  const live = await watch(api, { filter, snapshot: false });
  await live.next();
  for (const resource of ['a_b/1', 'cXd/1', 'c\\d/1']) await api.engine.submit(acquire(resource, resource));
  await api.engine.submit(release('c\\d/1', 'c\\d/1'));
  const replayed = await watch(api, { filter, after: '0' });
  for (const { next } of [live, replayed]) expect(await next()).toMatchObject({ __typename: 'LockEvent', resource: 'c\\d/1' });
});

test('the end of a subscription reaches the engine at once, while an item is awaited', async () => {
  const api = await startApi();
  const { stream, next } = await watch(api);
  await next();
  const pending = stream.next();
  expect(api.observer.watcherCount).toBe(1);
  await stream.return(undefined);
  expect(api.observer.watcherCount).toBe(0);
  expect(await pending).toMatchObject({ done: true });
});

test.each([
  ['logId', { logId: 'x' }],
  ['after', { after: '-1' }],
  ['after', { after: '9223372036854775808' }],
  ['after', { after: 'x' }],
  ['prefix', { filter: { resource: 'a', prefix: 'a' } }],
  ['resource', { filter: { resource: '' } }],
  ['owner', { filter: { owner: 'x'.repeat(256) } }],
])('a wrong %s is refused', async (argument, variables) => {
  const answer = await (await untouchedApi()).watch(WATCH, variables);
  if (Symbol.asyncIterator in answer) throw new Error('it was accepted');
  expectBadInput(answer, argument);
});
