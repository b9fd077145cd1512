import { expect, test } from 'vitest';
import { acquire } from '../support/commands.js';
import { dataOf, expectBadInput, LIMITS, sharedApi, startApi } from './api.js';

const encode = (text: string) => Buffer.from(text).toString('base64url');

async function startHeld(resource = 'job:42') {
  const api = await startApi();
  await api.engine.submit(acquire(resource, 'A', { ttlMs: 1000 }));
  return api;
}

const heldApi = sharedApi(startHeld);

const LOCK = 'query ($resource: String!) { lock(resource: $resource) { id owner remainingMs } }';

test('a held lock is shown with what is left of it by the clock of the store', async () => {
  const { run, time } = await startHeld();
  time.advance(999);
  expect(dataOf(await run(LOCK, { resource: 'job:42' }))).toEqual({
    lock: { id: encode('Lock:job:42'), owner: 'A', remainingMs: 1 },
  });
});

test('a lock that was never taken is absent', async () => {
  const { run } = await heldApi();
  expect(dataOf(await run(LOCK, { resource: 'job:4' }))).toEqual({ lock: null });
});

test('an expired lock is absent from lock, node and nodes at once', async () => {
  const { run, time } = await startHeld();
  const id = encode('Lock:job:42');
  const everywhere = `{ lock(resource: "job:42") { owner } node(id: "${id}") { id } nodes(ids: ["${id}"]) { id } }`;
  expect(dataOf(await run(everywhere))).toEqual({ lock: { owner: 'A' }, node: { id }, nodes: [{ id }] });
  time.advance(1000);
  expect(dataOf(await run(everywhere))).toEqual({ lock: null, node: null, nodes: [null] });
});

test.each(['', ' x', 'x'.repeat(256)])('the name %j is refused', async (resource) => {
  const { run } = await heldApi();
  expectBadInput(await run(LOCK, { resource }), 'resource', /1 to 255/);
});

test.each(['a:b:c', '😀', 'x'.repeat(255)])('the id of %j finds it again', async (resource) => {
  const { run } = await startHeld(resource);
  const { id } = dataOf(await run(LOCK, { resource })).lock;
  expect(dataOf(await run('query ($id: ID!) { node(id: $id) { __typename ... on Lock { resource } } }', { id }))).toEqual({
    node: { __typename: 'Lock', resource },
  });
});

test('nodes come in the order of their ids, each as often as it is asked for, of any type', async () => {
  const { run } = await heldApi();
  const [lock, event, none] = [encode('Lock:job:42'), encode('LockEvent:1'), encode('LockEvent:9')];
  expect(
    dataOf(await run('query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }', { ids: [event, none, lock, event] })),
  ).toEqual({
    nodes: [{ __typename: 'LockEvent', id: event }, null, { __typename: 'Lock', id: lock }, { __typename: 'LockEvent', id: event }],
  });
});

test.each([
  '',
  'x',
  'Lock:a',
  encode('Lock:'),
  encode('Lock: a'),
  encode('Server:1'),
  encode('LockEvent:x'),
  encode('LockEvent:01') + '=',
  `${encode('Lock:a')}!`,
])('the id %j is none, and is refused', async (id) => {
  const { run } = await heldApi();
  expectBadInput(await run('query ($id: ID!) { node(id: $id) { id } }', { id }), 'id');
  expectBadInput(await run('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: [encode('Lock:a'), id] }), 'ids');
});

test('more ids than a page are refused', async () => {
  const { run } = await heldApi();
  const ids = Array.from({ length: 501 }, () => encode('Lock:a'));
  expectBadInput(await run('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids }), 'ids', /at most 500/);
});

test('the server tells its clock, its log and its limits', async () => {
  const { run, time, engine } = await heldApi();
  const { server } = dataOf(
    await run(`{ server { version now logId revision oldestRevision
      limits { defaultTtlMs maxTtlMs maxWaitMs maxLocksPerCall retryWindowMs maxNameLength defaultPageSize maxPageSize maxMetadataBytes } } }`),
  );
  expect(server).toEqual({
    version: '1.2.3',
    now: new Date(time.wall).toISOString(),
    logId: (await engine.head()).logId,
    revision: '1',
    oldestRevision: '0',
    limits: { ...LIMITS, maxNameLength: 255, defaultPageSize: 50, maxPageSize: 500, maxMetadataBytes: 4096, maxLocksPerCall: 1000 },
  });
});
