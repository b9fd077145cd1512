import { expect, test } from 'vitest';
import { countLocks } from '../../../src/store/reads/count-locks.js';
import { readLocksByExpiry, type KeyedLockRecord } from '../../../src/store/reads/locks-by-expiry.js';
import { databaseWith, expired, held, many, NOW, type Row } from './lock-rows.js';

const LOCKS = 12_000;
const isEven = (n: number) => n % 2 === 0;
const leftMsOf = (n: number) => ((n * 7919) % LOCKS) - 5000;

const placeOf = ({ expiresAt, key }: KeyedLockRecord) => ({ expiresAt, id: BigInt(key) });

function row(name: string, n: number): Row {
  const resource = `${isEven(n) ? 'even' : 'odd'}/${name}`;
  const leftMs = leftMsOf(n);
  return (leftMs > 0 ? held : expired)(resource, isEven(n) ? 'E' : 'O', Math.abs(leftMs));
}

// More rows and more locks than are looked at one by one; and fewer.
test.each([LOCKS, 900])(
  'of %d rows, half of which a filter admits, those that expire soonest come first, over pages',
  async (count) => {
    const rows = many(count, row);
    const prisma = await databaseWith(rows);
    const filter = { prefix: 'even/', owner: 'E' };
    const expected = rows
      .filter(({ owner, expiresAt }) => owner === 'E' && expiresAt > NOW)
      .sort((one, other) => one.expiresAt - other.expiresAt)
      .map(({ resource }) => resource);
    expect(await countLocks(prisma, filter, NOW)).toBe(expected.length);

    const read = await readLocksByExpiry(prisma, filter, NOW);
    const names = (page: readonly KeyedLockRecord[]) => page.map(({ resource }) => resource);
    const one = await read({ start: null, end: null }, 30, false);
    expect(names(one)).toEqual(expected.slice(0, 30));
    const place = placeOf(one.at(-1)!);
    const two = await read({ start: { place, inclusive: false }, end: null }, 30, false);
    expect(names(two)).toEqual(expected.slice(30, 60));
    const back = await read({ start: null, end: { place, inclusive: true } }, 30, true);
    expect([...back].reverse()).toEqual(one);
  },
);

test('locks that expire together come in the order in which they were first taken, each once, over pages in both directions', async () => {
  const rows = many(130, (name) => held(name, 'o', 1000));
  const prisma = await databaseWith(rows);
  const read = await readLocksByExpiry(prisma, { prefix: null, owner: null }, NOW);
  const walk = async (backwards: boolean) => {
    const found: KeyedLockRecord[] = [];
    for (;;) {
      const last = found.at(-1);
      const bound = last === undefined ? null : { place: placeOf(last), inclusive: false };
      const page = await read(backwards ? { start: null, end: bound } : { start: bound, end: null }, 7, backwards);
      if (page.length === 0) return found.map(({ resource }) => resource);
      found.push(...page);
    }
  };
  const expected = rows.map(({ resource }) => resource);
  expect(await walk(false)).toEqual(expected);
  expect(await walk(true)).toEqual(expected.toReversed());
});
