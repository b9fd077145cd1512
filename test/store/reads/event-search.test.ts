import { expect, onTestFinished, test } from 'vitest';
import { openPrismaClient } from '../../../src/store/prisma-clients.js';
import { searchEvents, type EventFilter } from '../../../src/store/reads/event-search.js';
import { acquire, renew } from '../../support/commands.js';
import { startEngine } from '../../support/engine.js';

// Enough that the log has several segments.
const LOCKS = 12_000;
const START = Date.UTC(2026, 0, 1);

const isEven = (n: number) => n % 2 === 0;
const nameOf = (n: number) => `${isEven(n) ? 'even' : 'odd'}/${n}`;

/** Locks of two owners; those of n below 100 are renewed, in a second round. */
async function startFull() {
  const { engine, time, databaseUrl } = await startEngine();
  const prisma = await openPrismaClient(databaseUrl);
  onTestFinished(() => prisma.$disconnect());
  const numbers = Array.from({ length: LOCKS }, (_, n) => n);
  await Promise.all(numbers.map((n) => engine.submit(acquire(nameOf(n), isEven(n) ? 'E' : 'O'))));
  time.advance(500);
  await Promise.all(numbers.slice(0, 100).map((n) => engine.submit(renew(nameOf(n), isEven(n) ? 'E' : 'O', { ttlMs: 3_600_000 }))));
  return { engine, prisma };
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

test('a search through many segments of the log finds what a filter admits, from either end', async () => {
  const { prisma, engine } = await startFull();
  const { revision: to } = await engine.head();
  const search = async (filter: Partial<EventFilter>, limit: number, oldestFirst = false) => {
    const found = await searchEvents(prisma, { ...anything, ...filter }, { from: 1n, to }, limit, oldestFirst);
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
