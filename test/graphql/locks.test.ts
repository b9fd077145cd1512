import { expect, test } from 'vitest';
import { acquire, release } from '../support/commands.js';
import { dataOf, expectBadInput, sharedApi, startApi, type Api } from './api.js';

const LOCKS = `query ($filter: LockFilter, $orderBy: LockOrder, $first: Int, $after: String, $last: Int, $before: String) {
  locks(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    edges { cursor node { resource } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount revision } }`;

async function startWith(resources: readonly string[], owner: (n: number) => string = () => 'A') {
  const api = await startApi();
  // The later in the list, the sooner it expires; two share a moment.
  await Promise.all(
    resources.map((resource, n) => api.engine.submit(acquire(resource, owner(n), { ttlMs: 60_000 - (n >> 1) * 1000 }))),
  );
  return { ...api, names: (variables: object = {}) => namesOf(api, variables) };
}

async function namesOf(api: Api, variables: object): Promise<string[]> {
  return (await pageOf(api, variables)).edges.map(({ node }: { node: { resource: string } }) => node.resource);
}

async function pageOf(api: Api, variables: object) {
  return dataOf(await api.run(LOCKS, { ...variables })).locks;
}

const ORDERS = ['RESOURCE', 'EXPIRES_AT'];
const SEVEN = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const apiWithSeven = sharedApi(() => startWith(SEVEN));

test('locks come by name in code point order unless asked otherwise', async () => {
  const { names } = await startWith(['b', 'B', '\u{1f600}', '\uffee', 'a']);
  expect(await names()).toEqual(['B', 'a', 'b', '\uffee', '\u{1f600}']);
  expect(await names({ orderBy: null, filter: null })).toEqual(['B', 'a', 'b', '\uffee', '\u{1f600}']);
});

test('by expiry, those that expire soonest come first', async () => {
  const { names } = await apiWithSeven();
  expect(await names({ orderBy: 'EXPIRES_AT' })).toEqual(['g', 'e', 'f', 'c', 'd', 'a', 'b']);
});

test.each(ORDERS)('%s: pages forwards show every lock once', async (orderBy) => {
  const api = await apiWithSeven();
  const all = await api.names({ orderBy });
  const seen: string[] = [];
  let after: string | null = null;
  for (let size = 3; size > 0; size = Math.min(3, SEVEN.length - seen.length)) {
    const { edges, pageInfo, totalCount } = await pageOf(api, { orderBy, first: 3, after });
    expect(pageInfo.hasPreviousPage).toBe(after !== null);
    expect(totalCount).toBe(7);
    seen.push(...edges.map(({ node }: { node: { resource: string } }) => node.resource));
    expect(pageInfo.hasNextPage).toBe(seen.length < SEVEN.length);
    after = pageInfo.endCursor;
  }
  expect(seen).toEqual(all);
});

test.each(ORDERS)('%s: pages backwards show every lock once, each page in the order of the list', async (orderBy) => {
  const api = await apiWithSeven();
  const all = await api.names({ orderBy });
  const two = await pageOf(api, { orderBy, last: 3 });
  const one = await pageOf(api, { orderBy, last: 3, before: two.pageInfo.startCursor });
  const shown = [...one.edges, ...two.edges].map(({ node }) => node.resource);
  expect(shown).toEqual(all.slice(1));
  expect(one.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
});

test.each(ORDERS)('%s: a page goes on although the lock of its cursor was released meanwhile', async (orderBy) => {
  const api = await startWith(SEVEN);
  const all = await api.names({ orderBy });
  const { pageInfo } = await pageOf(api, { orderBy, first: 3 });
  await Promise.all(all.slice(0, 3).map((resource) => api.engine.submit(release(resource, 'A'))));
  const next = await pageOf(api, { orderBy, first: 2, after: pageInfo.endCursor });
  expect(next.edges.map(({ node }: { node: { resource: string } }) => node.resource)).toEqual(all.slice(3, 5));
  expect(next.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
});

test.each(ORDERS)('%s: a cursor of the other order is refused', async (orderBy) => {
  const api = await apiWithSeven();
  const { pageInfo } = await pageOf(api, { orderBy, first: 1 });
  const other = ORDERS.find((order) => order !== orderBy);
  expectBadInput(await api.run(LOCKS, { orderBy: other, after: pageInfo.endCursor }), 'after', /cursor/);
});

const MAX_BIGINT = 2n ** 63n - 1n;

test.each([
  ['an empty name', 'RESOURCE', ['']],
  ['half a character', 'RESOURCE', ['\ud800']],
  ['a control character', 'RESOURCE', ['a\0']],
  ['white space at the start', 'RESOURCE', [' a']],
  ['a name that is too long', 'RESOURCE', ['x'.repeat(100_000)]],
  ['a moment below 0', 'EXPIRES_AT', ['-1', '1']],
  ['a moment above 2^63 - 1', 'EXPIRES_AT', [`${MAX_BIGINT + 1n}`, '1']],
  ['an id above 2^63 - 1', 'EXPIRES_AT', ['1', `${MAX_BIGINT + 1n}`]],
])('a cursor made up of %s, where no lock can stand, is refused', async (_, orderBy, place) => {
  const { run } = await apiWithSeven();
  const cursor = madeUpCursor(orderBy, place);
  expectBadInput(await run(LOCKS, { orderBy, after: cursor }), 'after', /cursor/);
  expectBadInput(await run(LOCKS, { orderBy, before: cursor }), 'before', /cursor/);
});

test.each([
  ['RESOURCE', ['\u{10ffff}'.repeat(255)]],
  ['EXPIRES_AT', [`${MAX_BIGINT}`, `${MAX_BIGINT}`]],
])('%s: nothing comes after the last place that a lock can have', async (orderBy, place) => {
  const api = await apiWithSeven();
  expect(await api.names({ orderBy, after: madeUpCursor(orderBy, place) })).toEqual([]);
});

function madeUpCursor(orderBy: string, place: readonly string[]): string {
  return Buffer.from(JSON.stringify([orderBy, ...place])).toString('base64url');
}

const WILD = ['a_b/1', 'aXb/1', '100%/x', '100a/x', 'c\\d/1', 'cXd/1'];
const wildApi = sharedApi(() => startWith(WILD));

test.each([
  ['a_b/', ['a_b/1']],
  ['100%', ['100%/x']],
  ['%', []],
  ['_', []],
  ['c\\', ['c\\d/1']],
  ['', WILD],
  ['A', []],
])('the prefix %j admits the names that begin with exactly it', async (prefix, expected) => {
  const api = await wildApi();
  for (const orderBy of ORDERS) {
    const { edges, totalCount } = await pageOf(api, { orderBy, filter: { prefix } });
    expect(edges.map(({ node }: { node: { resource: string } }) => node.resource).sort()).toEqual([...expected].sort());
    expect(totalCount).toBe(expected.length);
  }
});

const evenAndOdd = (n: number) => (n % 2 === 0 ? 'even' : 'odd');
const ownedApi = sharedApi(() => startWith(['x1', 'x2', 'x3', 'x4', 'x5', 'y1', 'y3'], evenAndOdd));

test.each(ORDERS)('%s: owner and prefix narrow together, over pages', async (orderBy) => {
  const api = await ownedApi();
  const filter = { owner: 'even', prefix: 'x' };
  const one = await pageOf(api, { orderBy, filter, first: 2 });
  const two = await pageOf(api, { orderBy, filter, first: 2, after: one.pageInfo.endCursor });
  const shown = [...one.edges, ...two.edges].map(({ node }) => node.resource);
  expect(shown.sort()).toEqual(['x1', 'x3', 'x5']);
  expect([one.totalCount, two.pageInfo.hasNextPage]).toEqual([3, false]);
});

test.each(ORDERS)('%s: a cursor that lies before or behind the prefix pages from its nearer end', async (orderBy) => {
  const api = await apiWithSeven();
  const { edges } = await pageOf(api, { orderBy: 'RESOURCE' });
  const cursorOf = (resource: string) =>
    edges.find(({ node }: { node: { resource: string } }) => node.resource === resource).cursor;
  if (orderBy === 'EXPIRES_AT') return expect(await api.names({ orderBy, filter: { prefix: 'd' } })).toEqual(['d']);
  expect(await api.names({ filter: { prefix: 'd' }, after: cursorOf('a') })).toEqual(['d']);
  expect(await api.names({ filter: { prefix: 'd' }, after: cursorOf('f') })).toEqual([]);
  expect(await api.names({ filter: { prefix: 'd' }, before: cursorOf('f') })).toEqual(['d']);
});

test('expired locks are absent from the list and from the count', async () => {
  const api = await startWith(['a', 'b', 'c', 'd']);
  api.time.advance(59_000);
  for (const orderBy of ORDERS) {
    expect(await pageOf(api, { orderBy, filter: { owner: 'A' } })).toMatchObject({ totalCount: 2 });
    expect(await pageOf(api, { orderBy })).toMatchObject({ totalCount: 2 });
    expect(await api.names({ orderBy })).toEqual(['a', 'b']);
  }
});

test('the revision is that of before the page', async () => {
  const api = await startWith(['a', 'b']);
  expect(await pageOf(api, {})).toMatchObject({ revision: '2' });
});

test.each([
  ['first', { first: 0 }],
  ['first', { first: 501 }],
  ['last', { last: -1 }],
  ['last', { first: 1, last: 1 }],
  ['after', { after: 'x' }],
  ['before', { before: '' }],
  ['prefix', { filter: { prefix: ' x' } }],
  ['prefix', { filter: { prefix: 'x'.repeat(256) } }],
  ['owner', { filter: { owner: '' } }],
])('a wrong %s is refused', async (argument, variables) => {
  const { run } = await apiWithSeven();
  expectBadInput(await run(LOCKS, variables), argument);
});
