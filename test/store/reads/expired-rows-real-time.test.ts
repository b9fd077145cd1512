import { expect, test } from 'vitest';
import { countLocks } from '../../../src/store/reads/count-locks.js';
import { readLocksByName } from '../../../src/store/reads/locks-by-name.js';
import { databaseWith, expired, held, many, NOW } from './lock-rows.js';

/** As many as it takes for each to run undisturbed once. */
const RUNS = 25;
/** Rows that are not looked at cost nothing; to look at all of them would take ten times as long. */
const FACTOR = 4;

/** How long each takes at the least. They take turns, so that whatever disturbs one disturbs the other as well. */
async function fastest(actions: readonly (() => unknown)[]): Promise<number[]> {
  const least = actions.map(() => Infinity);
  for (let run = 0; run < RUNS; run++) {
    for (const [index, action] of actions.entries()) {
      const startedAt = performance.now();
      await action();
      least[index] = Math.min(least[index] ?? Infinity, performance.now() - startedAt);
    }
  }
  return least;
}

// Names in another order than the rows, as they are in use; six of them are held.
const rowsOf = (count: number) =>
  many(count, (_name, n) => (n % (count / 6) === 0 ? held : expired)(String((n * 7919) % count).padStart(6, '0'), 'A', 5));

/** A way to list, and one to count, what is held among so many rows; both have proved right. */
async function readersAmong(count: number, prefix: string | null) {
  const rows = rowsOf(count);
  const prisma = await databaseWith(rows);
  const filter = { prefix, owner: null };
  const list = () => readLocksByName(prisma, filter, NOW)({ start: null, end: null }, 51, false);
  const countHeld = () => countLocks(prisma, filter, NOW);
  const names = rows.filter(({ expiresAt }) => expiresAt > NOW).map(({ resource }) => resource);
  expect((await list()).map(({ resource }) => resource)).toEqual(names.sort());
  expect(await countHeld()).toBe(names.length);
  return [list, countHeld] as const;
}

test.each([
  ['all', null],
  ['a prefix', '0'],
])('six locks among ten times as many expired rows are listed and counted about as fast: %s', async (_, prefix) => {
  const some = await readersAmong(6_000, prefix);
  const many = await readersAmong(60_000, prefix);
  for (const [index, ofSome] of some.entries()) {
    const [someMs, manyMs] = await fastest([ofSome, many[index]!]);
    expect(manyMs).toBeLessThan(FACTOR * someMs!);
  }
});
