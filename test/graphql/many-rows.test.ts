import { expect, test } from 'vitest';
import { byExpiry, readLocksByExpiry } from '../../src/graphql/locks-by-expiry.js';
import { countLocks } from '../../src/graphql/count-locks.js';
import { searchEvents, type EventFilter } from '../../src/graphql/event-search.js';
import { readPage } from '../../src/graphql/pagination.js';
import { acquire, renew } from '../support/commands.js';
import { startApi, type Api } from './api.js';

// Enough that a filter admits many of them, and that the log has several segments.
const LOCKS = 12_000;
const START = Date.UTC(2026, 0, 1);

const isEven = (n: number) => n % 2 === 0;
const nameOf = (n: number) => `${isEven(n) ? 'even' : 'odd'}/${n}`;
const ttlOf = (n: number) => 1000 + ((n * 7919) % LOCKS);

/** Locks of two owners; those of n below 100 are renewed to last, in a second round. */
async function startFull(): Promise<Api> {
  const api = await startApi();
  const numbers = Array.from({ length: LOCKS }, (_, n) => n);
  await Promise.all(numbers.map((n) => api.engine.submit(acquire(nameOf(n), isEven(n) ? 'E' : 'O', { ttlMs: ttlOf(n) }))));
  api.time.advance(500);
  await Promise.all(
    numbers.slice(0, 100).map((n) => api.engine.submit(renew(nameOf(n), isEven(n) ? 'E' : 'O', { ttlMs: 3_600_000 }))),
  );
  return api;
}

const anything: EventFilter = {
  resource: null,
  prefix: null,
  owner: null,
  types: null,
  fencingToken: null,
  since: null,
  until: null,
};

test('a filter that admits thousands of locks pages by expiry, and counts what is held', async () => {
  const { services, time } = await startFull();
  time.advance(5000);
  const now = time.wall;
  const selector = { resource: null, prefix: 'even/', owner: 'E' };
  const held = Array.from({ length: LOCKS }, (_, n) => n)
    .filter((n) => isEven(n) && n >= 100 && START + ttlOf(n) > now)
    .sort((a, b) => ttlOf(a) - ttlOf(b))
    .map(nameOf);
  expect(await countLocks(services.prisma, selector, now)).toBe(held.length + 50);

  const read = await readLocksByExpiry(services.prisma, selector, now);
  const page = (rest: object) => readPage({ size: 30, backwards: false, after: null, before: null, ...rest }, byExpiry, read);
  const one = await page({});
  expect(one.edges.map(({ node }) => node.resource)).toEqual(held.slice(0, 30));
  const last = one.edges.at(-1)?.node;
  const two = await page({ after: last && byExpiry.placeOf(last) });
  expect(two.edges.map(({ node }) => node.resource)).toEqual(held.slice(30, 60));
  expect(two.pageInfo).toMatchObject({ hasPreviousPage: true, hasNextPage: true });
  const back = await page({ backwards: true, before: two.edges[0] && byExpiry.placeOf(two.edges[0].node) });
  expect(back.edges).toEqual(one.edges);
});

test('a search through many segments of the log finds what a filter admits, from either end', async () => {
  const { services, engine } = await startFull();
  const { revision: to } = await engine.head();
  const search = async (filter: Partial<EventFilter>, limit: number, oldestFirst = false) => {
    const found = await searchEvents(services.prisma, { ...anything, ...filter }, { from: 1n, to }, limit, oldestFirst);
    return found.map(({ type, resource }) => `${type} ${resource}`);
  };
  expect(await search({ resource: 'odd/7' }, 10)).toEqual(['RENEWED odd/7', 'ACQUIRED odd/7']);
  expect(await search({ resource: 'odd/7' }, 10, true)).toEqual(['ACQUIRED odd/7', 'RENEWED odd/7']);
  expect(await search({ resource: 'odd/7', types: ['ACQUIRED'] }, 10)).toEqual(['ACQUIRED odd/7']);
  expect(await search({ prefix: 'odd/', types: ['RENEWED'] }, 500)).toHaveLength(50);
  expect(await search({ owner: 'O' }, 7000)).toHaveLength(LOCKS / 2 + 50);
  expect(await search({ owner: 'E', prefix: 'odd/' }, 10)).toEqual([]);
  expect(await search({}, 60, true)).toHaveLength(60);
  expect(await search({ since: START + 500 }, 500)).toHaveLength(100);
  expect(await search({ until: START + 499 }, 2, true)).toEqual(await search({}, 2, true));
  expect(await search({ types: [] }, 10)).toEqual([]);
  const all = await search({}, 20_000);
  expect(all).toHaveLength(LOCKS + 100);
  expect(await search({}, 20_000, true)).toEqual(all.reverse());
});
