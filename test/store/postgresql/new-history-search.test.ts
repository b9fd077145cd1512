import { expect, test } from 'vitest';
import { beginNewHistory } from '../../../src/store/postgresql/new-history.js';
import { searchEvents } from '../../../src/store/reads/event-search.js';
import { segmentOf } from '../../../src/store/log-segments.js';
import { createDatabase } from '../../support/database.js';
import { ANYTHING, insertEvents, openReader, startOf } from '../reads/event-rows.js';

test('a search that goes on in a new history finds what that has, and in its own revisions the old one still', async () => {
  const databaseUrl = await createDatabase();
  const prisma = await openReader(databaseUrl);
  const search = async (from: bigint, to: bigint) => {
    const found = await searchEvents(prisma, { ...ANYTHING, types: ['RELEASED'] }, { from, to }, 10, true);
    return found.map(({ revision }) => revision);
  };
  const old = [5n, startOf(1) + 5n];
  await insertEvents(
    databaseUrl,
    old.map((revision) => ({ revision, type: 'RELEASED' })),
  );
  expect(await search(1n, startOf(2) - 1n)).toEqual(old);

  const { revision: start } = await beginNewHistory(databaseUrl);
  const end = startOf(Number(segmentOf(start)) + 2) - 1n;
  expect(await search(start + 1n, end)).toEqual([]);
  const fresh = [end + 1n, end + 2n];
  await insertEvents(
    databaseUrl,
    fresh.map((revision) => ({ revision, type: 'RELEASED' })),
  );
  expect(await search(start + 1n, end + 2n)).toEqual(fresh);
  expect(await search(1n, startOf(2) - 1n)).toEqual(old);
});
