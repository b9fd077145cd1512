import { expect, test } from 'vitest';
import { walkEvents } from '../../../src/store/reads/event-walk.js';
import { createDatabase } from '../../support/database.js';
import { ANYTHING, insertEvents, openReader, startOf } from './event-rows.js';

// Steps that went on doubling would ask for thousands of them at once.
const SEGMENTS = 8000;

test.each([
  ['a name', { prefix: 'job/' }],
  ['an owner', { owner: 'A' }],
])('a search for %s finds what is many thousands of segments away, from either end', async (_, narrow) => {
  const databaseUrl = await createDatabase();
  const prisma = await openReader(databaseUrl);
  const ends = { from: 1n, to: startOf(SEGMENTS) };
  await insertEvents(databaseUrl, [
    { revision: ends.from, type: 'ACQUIRED' },
    { revision: ends.to, type: 'ACQUIRED' },
  ]);
  for (const oldestFirst of [true, false]) {
    const found = await walkEvents(prisma, { ...ANYTHING, ...narrow }, ends, 10, oldestFirst);
    const revisions = found.map(({ revision }) => revision);
    expect(revisions).toEqual(oldestFirst ? [ends.from, ends.to] : [ends.to, ends.from]);
  }
});
