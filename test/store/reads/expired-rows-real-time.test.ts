import Database from 'better-sqlite3';
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

test.each([
  ['all', null],
  ['a prefix', '0'],
])('a few locks among very many expired rows are listed and counted without looking at those: %s', async (_, prefix) => {
  // Names in another order than the rows, as they are in use.
  const rows = many(60_000, (_name, n) =>
    (n % 10_000 === 0 ? held : expired)(String((n * 7919) % 60_000).padStart(6, '0'), 'A', 5),
  );
  const { path, prisma } = await databaseWith(rows);
  const filter = { prefix, owner: null };
  const names = rows.filter(({ expiresAt }) => expiresAt > NOW).map(({ resource }) => resource);

  const database = new Database(path, { readonly: true });
  const walk = database.prepare('SELECT count(*) FROM distributed_locks WHERE resource > ? AND expires_at + 0 > ?');
  const walkMs = await fastest(() => walk.get('0', NOW));
  database.close();

  const read = readLocksByName(prisma, filter, NOW);
  expect((await read({ start: null, end: null }, 51, false)).map(({ resource }) => resource)).toEqual(names.sort());
  expect(await fastest(() => read({ start: null, end: null }, 51, false))).toBeLessThan(walkMs / 3);
  expect(await countLocks(prisma, filter, NOW)).toBe(names.length);
  expect(await fastest(() => countLocks(prisma, filter, NOW))).toBeLessThan(walkMs / 3);
});
