import { expect, test } from 'vitest';
import { countLocks } from '../../../src/store/reads/count-locks.js';
import { readLocksByName } from '../../../src/store/reads/locks-by-name.js';
import { databaseWith, expired, held, many, NOW } from './lock-rows.js';

// As many as it takes for each to run undisturbed once.
const RUNS = 20;

async function fastest(action: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const startedAt = performance.now();
    await action();
    times.push(performance.now() - startedAt);
  }
  return Math.min(...times);
}

// Names in another order than the rows, as they are in use; six of them are held.
const rowsOf = (count: number) =>
  many(count, (_name, n) => (n % (count / 6) === 0 ? held : expired)(String((n * 7919) % count).padStart(6, '0'), 'A', 5));

/** How long it takes to list what is held, and to count it, among so many rows. */
async function readAmong(count: number, prefix: string | null) {
  const rows = rowsOf(count);
  const prisma = await databaseWith(rows);
  const filter = { prefix, owner: null };
  const list = () => readLocksByName(prisma, filter, NOW)({ start: null, end: null }, 51, false);
  const names = rows.filter(({ expiresAt }) => expiresAt > NOW).map(({ resource }) => resource);
  expect((await list()).map(({ resource }) => resource)).toEqual(names.sort());
  expect(await countLocks(prisma, filter, NOW)).toBe(names.length);
  return { listMs: await fastest(list), countMs: await fastest(() => countLocks(prisma, filter, NOW)) };
}

test.each([
  ['all', null],
  ['a prefix', '0'],
])('six locks among ten times as many expired rows are listed and counted about as fast: %s', async (_, prefix) => {
  const some = await readAmong(6_000, prefix);
  const many = await readAmong(60_000, prefix);
  expect(many.listMs).toBeLessThan(3 * some.listMs);
  expect(many.countMs).toBeLessThan(3 * some.countMs);
});
