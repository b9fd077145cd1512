import { expect, test } from 'vitest';
import { acquire, release, renew } from '../support/commands.js';
import { runSql } from '../support/sql.js';
import { ACQUIRE, dataOf, expectBadInput, RELEASE, RENEW, sharedApi, startApi } from './api.js';

const EVENTS = `query ($filter: LockEventFilter, $first: Int, $after: String, $last: Int, $before: String) {
  lockEvents(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
    edges { cursor node { revision type resource } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;

interface Edge {
  readonly node: { readonly revision: string; readonly type: string; readonly resource: string };
}

/** Five events: a taken at 0 s, renewed at 1 s; b taken and released at 2 s; a expired at 31 s, recorded by a claim at 40 s. */
async function startWithHistory() {
  const api = await startApi();
  const { engine, time } = api;
  await engine.submit(acquire('a', 'A', { metadata: '{"n":1}' }));
  time.advance(1000);
  await engine.submit(renew('a', 'A'));
  time.advance(1000);
  await engine.submit(acquire('b', 'B'));
  await engine.submit(release('b', 'B'));
  time.advance(38_000);
  await engine.submit({ kind: 'expire', resource: 'a' });
  const page = async (variables: object = {}) => dataOf(await api.run(EVENTS, { ...variables })).lockEvents;
  const revisions = async (filter: object) => (await page({ filter })).edges.map(({ node }: Edge) => Number(node.revision));
  return { ...api, page, revisions };
}

const apiWithHistory = sharedApi(startWithHistory);

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();

test('the newest event comes first', async () => {
  const { page } = await apiWithHistory();
  expect((await page()).edges.map(({ node }: Edge) => `${node.revision} ${node.type} ${node.resource}`)).toEqual([
    '5 EXPIRED a',
    '4 RELEASED b',
    '3 ACQUIRED b',
    '2 RENEWED a',
    '1 ACQUIRED a',
  ]);
});

test.each([
  ['resource', { resource: 'a' }, [5, 2, 1]],
  ['prefix', { prefix: 'b' }, [4, 3]],
  ['an empty prefix', { prefix: '' }, [5, 4, 3, 2, 1]],
  ['owner', { owner: 'B' }, [4, 3]],
  ['types', { types: ['EXPIRED', 'RELEASED'] }, [5, 4]],
  ['no types', { types: [] }, []],
  ['token', { fencingToken: '1' }, [5, 2, 1]],
  ['token and type', { fencingToken: '1', types: ['RENEWED'] }, [2]],
  ['since, which is included', { since: at(2) }, [5, 4, 3]],
  ['until, which is included', { until: at(1) }, [2, 1]],
  ['since and until', { since: at(1), until: at(1) }, [2]],
  ['since the moment of an expiry, which was written later', { since: at(31) }, [5]],
  ['everything at once', { resource: 'a', owner: 'A', types: ['RENEWED'], fencingToken: 1, since: at(0), until: at(2) }, [2]],
  [
    'nulls',
    { resource: null, prefix: null, owner: null, types: null, fencingToken: null, since: null, until: null },
    [5, 4, 3, 2, 1],
  ],
])('a filter by %s admits those events', async (_, filter, expected) => {
  const { revisions } = await apiWithHistory();
  expect(await revisions(filter)).toEqual(expected);
});

test('pages forwards and backwards meet', async () => {
  const { page } = await apiWithHistory();
  const one = await page({ first: 2 });
  const two = await page({ first: 2, after: one.pageInfo.endCursor });
  expect(two.edges.map(({ node }: Edge) => node.revision)).toEqual(['3', '2']);
  expect(two.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
  expect((await page({ last: 2, before: two.pageInfo.startCursor })).edges).toEqual(one.edges);
  expect((await page({ last: 2 })).edges.map(({ node }: Edge) => node.revision)).toEqual(['2', '1']);
});

test('an event shows the lock as it left it, and is found again by its id', async () => {
  const { run } = await apiWithHistory();
  const fields =
    '__typename id at lockId owner fencingToken expiresAt metadata lock { id acquiredAt expiresAt remainingMs metadata revision }';
  const { lockEvents } = dataOf(await run(`{ lockEvents(filter: {resource: "a"}) { edges { node { ${fields} } } } }`));
  const [expired, renewed] = lockEvents.edges.map(({ node }: { node: object }) => node);
  const lockId = Buffer.from('Lock:a').toString('base64url');
  expect(expired).toMatchObject({ at: at(31), lockId, lock: null, metadata: { n: 1 } });
  expect(renewed).toMatchObject({
    at: at(1),
    expiresAt: at(31),
    lock: { id: lockId, acquiredAt: at(0), expiresAt: at(31), remainingMs: 0, metadata: { n: 1 }, revision: '2' },
  });
  expect(dataOf(await run(`query ($id: ID!) { node(id: $id) { ... on LockEvent { ${fields} } } }`, { id: renewed.id }))).toEqual({
    node: renewed,
  });
});

test('events up to the oldest revision are gone, whether their rows are there still or not', async () => {
  const { page, revisions, run, databaseUrl } = await startWithHistory();
  const cursors = (await page()).edges.map(({ cursor }: { cursor: string }) => cursor);
  await runSql(databaseUrl, 'UPDATE lock_clock SET oldest_revision = 3');
  expect(await revisions({})).toEqual([5, 4]);
  expect((await page({ first: 1, after: cursors[0] })).pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
  expect((await page({ first: 1, after: cursors[3] })).edges).toEqual([]);
  const id = Buffer.from('LockEvent:3').toString('base64url');
  expect(dataOf(await run('query ($id: ID!) { node(id: $id) { id } }', { id }))).toEqual({ node: null });
});

test.each([
  ['prefix', { filter: { resource: 'a', prefix: 'a' } }],
  ['prefix', { filter: { resource: 'a', prefix: '' } }],
  ['resource', { filter: { resource: '' } }],
  ['owner', { filter: { owner: ' ' } }],
  ['fencingToken', { filter: { fencingToken: '-1' } }],
  ['fencingToken', { filter: { fencingToken: '9223372036854775808' } }],
  ['since', { filter: { since: 'yesterday' } }],
  ['types', { filter: { types: ['STOLEN'] } }],
  ['first', { first: 501 }],
  ['after', { after: 'x' }],
])('a wrong %s is refused', async (argument, variables) => {
  const { run } = await apiWithHistory();
  expectBadInput(await run(EVENTS, variables), argument);
});

test('tokens and revisions above 2^53 stay exact in answers, in history and in comparisons', async () => {
  const { run, databaseUrl } = await startApi();
  await runSql(databaseUrl, 'UPDATE lock_clock SET revision = $1, oldest_revision = $1', [2n ** 53n - 1n]);
  for (const resource of ['a', 'b', 'c']) await run(ACQUIRE, { input: { resource, owner: 'A' } });
  expect(
    dataOf(await run(RENEW, { input: { resource: 'a', owner: 'A', fencingToken: '9007199254740993' } })).renewLock.reason,
  ).toBe('STALE_TOKEN');
  const { renewLock } = dataOf(await run(RENEW, { input: { resource: 'a', owner: 'A', fencingToken: '9007199254740992' } }));
  expect(renewLock.lock).toMatchObject({ fencingToken: '9007199254740992', revision: '9007199254740995' });
  const { releaseLock } = dataOf(await run(RELEASE, { input: { resource: 'b', owner: 'A', fencingToken: '9007199254740993' } }));
  expect(releaseLock.revision).toBe('9007199254740996');
  const { lockEvents } = dataOf(await run(EVENTS, {}));
  expect(lockEvents.edges.map(({ node }: Edge) => node.revision)).toEqual([
    '9007199254740996',
    '9007199254740995',
    '9007199254740994',
    '9007199254740993',
    '9007199254740992',
  ]);
  const { lockEvents: next } = dataOf(await run(EVENTS, { first: 1, after: lockEvents.edges[1].cursor }));
  expect(next.edges[0].node.revision).toBe('9007199254740994');
});
