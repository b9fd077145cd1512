import { describe, expect, test } from 'vitest';
import type { PrismaReader } from '../../../src/store/prisma-clients.js';
import { countLocks } from '../../../src/store/reads/count-locks.js';
import type { ListFilter } from '../../../src/store/reads/lock-conditions.js';
import { readLocksByName } from '../../../src/store/reads/locks-by-name.js';
import type { Range } from '../../../src/store/reads/range.js';
import { databaseWith, expired, held, many, NOW, type Row } from './lock-rows.js';

const ALL: Range<string> = { start: null, end: null };
const from = (place: string, inclusive: boolean) => ({ start: { place, inclusive }, end: null });
const upTo = (place: string, inclusive: boolean) => ({ start: null, end: { place, inclusive } });

/** The names that the rows themselves say the answer has; all are of digits, so that JavaScript orders them, too. */
function expectedOf(rows: readonly Row[], { prefix, owner }: ListFilter, { start, end }: Range<string>): string[] {
  return rows
    .filter((row) => row.expiresAt > NOW && row.resource.startsWith(prefix ?? '') && row.owner === (owner ?? row.owner))
    .map(({ resource }) => resource)
    .filter((name) => start === null || name > start.place || (start.inclusive && name === start.place))
    .filter((name) => end === null || name < end.place || (end.inclusive && name === end.place))
    .sort();
}

async function expectPages(prisma: PrismaReader, rows: readonly Row[], filter: ListFilter): Promise<void> {
  const read = readLocksByName(prisma, filter, NOW);
  const names = expectedOf(rows, filter, ALL);
  expect(await countLocks(prisma, filter, NOW)).toBe(names.length);
  const middle = names[names.length >> 1] ?? '5';
  for (const range of [ALL, from(middle, true), from(middle, false), upTo(middle, true), upTo(middle, false)]) {
    const expected = expectedOf(rows, filter, range);
    for (const limit of [1, 51]) {
      expect((await read(range, limit, false)).map(({ resource }) => resource)).toEqual(expected.slice(0, limit));
      expect((await read(range, limit, true)).map(({ resource }) => resource)).toEqual(expected.reverse().slice(0, limit));
      expected.reverse();
    }
  }
}

const FILTERS: readonly ListFilter[] = [
  { prefix: null, owner: null },
  { prefix: '00', owner: null },
  { prefix: '001', owner: 'B' },
  { prefix: null, owner: 'B' },
  { prefix: '9', owner: null },
  { prefix: null, owner: 'nobody' },
];

const ownerOf = (n: number) => (n % 3 === 0 ? 'B' : 'A');

describe('locks by name', () => {
  test.each([
    ['without an expired row', many(200, (name, n) => held(name, ownerOf(n)))],
    ['between as many expired rows', many(400, (name, n) => (n % 2 === 0 ? held : expired)(name, ownerOf(n)))],
    ['far apart', many(4000, (name, n) => (n % 40 === 0 ? held(name, ownerOf(n)) : expired(name, ownerOf(n), n % 3)))],
    ['behind thousands of expired rows', many(4000, (name, n) => (n > 3900 ? held : expired)(name, ownerOf(n), 5))],
    ['none of which is held any more', many(3000, (name, n) => expired(name, ownerOf(n), n % 3))],
  ])('%s, are those that are held, and counted', async (_, rows) => {
    const prisma = await databaseWith(rows);
    for (const filter of FILTERS) await expectPages(prisma, rows, filter);
  });

  test('too many to sort, behind thousands of expired rows, are those that are held, and counted', async () => {
    const rows = many(24_000, (name, n) => (n < 3000 ? expired : held)(name, ownerOf(n), 5));
    const prisma = await databaseWith(rows);
    for (const filter of FILTERS) await expectPages(prisma, rows, filter);
  });
});
