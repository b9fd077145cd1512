import { expect, test } from 'vitest';
import { searchEvents } from '../../../src/store/reads/event-search.js';
import type { EventFilter } from '../../../src/store/reads/event-filter.js';
import { acquire, renew } from '../../support/commands.js';
import { startEngine } from '../../support/engine.js';
import { runSql } from '../../support/sql.js';
import { ANYTHING, openReader } from './event-rows.js';

// Enough that the log has several segments.
const LOCKS = 12_000;
const START = Date.UTC(2026, 0, 1);

const isEven = (n: number) => n % 2 === 0;
const ownerOf = (n: number) => (isEven(n) ? 'E' : 'O');
const nameOf = (n: number) => `${isEven(n) ? 'even' : 'odd'}/${n}`;

/** Locks of two owners; those of n below 100 are renewed, in a second round. */
async function startFull() {
  const { engine, time, databaseUrl } = await startEngine();
  const prisma = await openReader(databaseUrl);
  const numbers = Array.from({ length: LOCKS }, (_, n) => n);
  await Promise.all(numbers.map((n) => engine.submit(acquire(nameOf(n), ownerOf(n)))));
  time.advance(500);
  await Promise.all(numbers.slice(0, 100).map((n) => engine.submit(renew(nameOf(n), ownerOf(n), { ttlMs: 3_600_000 }))));
  const search = async (filter: Partial<EventFilter>, limit: number, oldestFirst = false) => {
    const { oldestRevision, revision: to } = await engine.head();
    const range = { from: oldestRevision + 1n, to };
    const found = await searchEvents(prisma, { ...ANYTHING, ...filter }, range, limit, oldestFirst);
    return found.map(({ type, resource }) => `${type} ${resource}`);
  };
  const tokenOf = async (resource: string) => {
    const [row] = await runSql(databaseUrl, 'SELECT fencing_token FROM distributed_locks WHERE resource = $1', [resource]);
    return row?.['fencing_token'] as bigint;
  };
  return { engine, time, databaseUrl, search, tokenOf };
}

test('a search through many segments of the log finds what a filter admits, from either end', async () => {
  const { search } = await startFull();
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

test('a search for types or times passes over no event, whatever was found before: neither a new one nor one that happened long before it was written', async () => {
  const { search, engine, time } = await startFull();
  const both = async (filter: Partial<EventFilter>) => {
    const found = await search(filter, 20_000);
    expect(await search(filter, 20_000, true)).toEqual(found.toReversed());
    return found;
  };
  expect(await both({ types: ['RENEWED'] })).toHaveLength(100);
  expect(await both({ until: START + 499 })).toHaveLength(LOCKS);
  expect(await both({ types: ['EXPIRED'] })).toEqual([]);
  expect(await both({ since: START + 501 })).toEqual([]);
  // Segments full of them are written an hour after the locks expired.
  time.advance(3_500_000);
  const numbers = Array.from({ length: LOCKS }, (_, n) => n);
  await Promise.all(numbers.map((n) => engine.submit({ kind: 'expire', resource: nameOf(n) })));
  await engine.submit(acquire('late', 'L'));
  expect(await both({ types: ['EXPIRED'] })).toHaveLength(LOCKS - 100);
  expect(await both({ types: ['EXPIRED'], owner: 'O' })).toHaveLength(LOCKS / 2 - 50);
  expect(await both({ since: START + 501, until: START + 60_000 })).toHaveLength(LOCKS - 100);
  expect(await both({ since: START + 60_001 })).toEqual(['ACQUIRED late']);
  expect(await both({ until: START + 499 })).toHaveLength(LOCKS);
});

test('a search for a token finds the events of that acquisition alone, and nothing where no acquisition has that number', async () => {
  const { search, tokenOf, engine } = await startFull();
  const [kept, last] = [await tokenOf('odd/7'), await tokenOf('odd/11999')];
  expect(await search({ fencingToken: kept }, 10)).toEqual(['RENEWED odd/7', 'ACQUIRED odd/7']);
  expect(await search({ fencingToken: kept }, 1, true)).toEqual(['ACQUIRED odd/7']);
  expect(await search({ fencingToken: kept, resource: 'odd/7', owner: 'O' }, 1)).toEqual(['RENEWED odd/7']);
  expect(await search({ fencingToken: kept, prefix: 'odd/', types: ['ACQUIRED'] }, 10)).toEqual(['ACQUIRED odd/7']);
  expect(await search({ fencingToken: last }, 10)).toEqual(['ACQUIRED odd/11999']);
  for (const other of [{ resource: 'odd/9' }, { prefix: 'even/' }, { owner: 'E' }, { since: START + 501 }]) {
    expect(await search({ fencingToken: kept, ...other }, 10)).toEqual([]);
  }
  // A later acquisition of the same lock is another one.
  await engine.submit(acquire('odd/7', 'O'));
  expect(await search({ fencingToken: kept }, 10)).toEqual(['RENEWED odd/7', 'ACQUIRED odd/7']);
  // A renewal's revision is nobody's token, nor is one that nothing has yet.
  for (const none of [BigInt(LOCKS) + 1n, 1_000_000n, 0n]) expect(await search({ fencingToken: none }, 10)).toEqual([]);
});

test.each([
  ['of a lock that is held', []],
  ['of a lock that is gone', ["DELETE FROM distributed_locks WHERE resource = 'odd/7'"]],
  ['of a lock that is gone, of few', ["DELETE FROM distributed_locks WHERE resource = 'odd/7' OR owner = 'E'"]],
  [
    'of one of few locks',
    ["DELETE FROM distributed_locks WHERE owner = 'E'", "DELETE FROM distributed_locks WHERE resource > 'odd/8'"],
  ],
])('a search for a token whose acquisition was pruned, %s, finds what is left', async (_, statements) => {
  const { search, tokenOf, databaseUrl } = await startFull();
  const token = await tokenOf('odd/7');
  for (const statement of statements) await runSql(databaseUrl, statement);
  await runSql(databaseUrl, 'DELETE FROM lock_events WHERE revision <= $1', [LOCKS - 100]);
  await runSql(databaseUrl, 'UPDATE lock_clock SET oldest_revision = $1', [LOCKS - 100]);
  expect(await search({ fencingToken: token }, 10)).toEqual(['RENEWED odd/7']);
  expect(await search({ fencingToken: token, prefix: 'odd/' }, 10, true)).toEqual(['RENEWED odd/7']);
  expect(await search({ fencingToken: token, owner: 'O' }, 10)).toEqual(['RENEWED odd/7']);
  expect(await search({ fencingToken: token, owner: 'E' }, 10)).toEqual([]);
  expect(await search({ fencingToken: 1n }, 10)).toEqual(['RENEWED even/0']);
});
