import { expect, test } from 'vitest';
import type { PrismaReader } from '../../../src/store/prisma-clients.js';
import { searchEvents } from '../../../src/store/reads/event-search.js';
import { stretchesWithin } from '../../../src/store/reads/segment-spans.js';
import { createDatabase } from '../../support/database.js';
import { runSql } from '../../support/sql.js';
import { ANYTHING, insertEvents, openReader, startOf } from './event-rows.js';

const RELEASED = { ...ANYTHING, types: ['RELEASED'] } as const;

/** The revisions of whole segments, both included. */
const whole = (first: number, last: number) => ({ from: startOf(first), to: startOf(last + 1) - 1n });

/** A reader that keeps the revisions over which it was asked for groups. */
function recording(prisma: PrismaReader) {
  const asked: unknown[] = [];
  const reader = prisma.$extends({
    query: {
      lockEvent: {
        groupBy({ args, query }) {
          asked.push(args.where?.revision);
          return query(args);
        },
      },
    },
  }) as unknown as PrismaReader;
  return { reader, asked };
}

test('what lies between segments that are not known is not read again when it is', async () => {
  const databaseUrl = await createDatabase();
  const { reader, asked } = recording(await openReader(databaseUrl));
  await insertEvents(
    databaseUrl,
    [0, 1, 2, 3, 4, 5].map((segment) => ({ revision: startOf(segment) + 5n, type: segment === 3 ? 'RELEASED' : 'ACQUIRED' })),
  );
  expect(await stretchesWithin(reader, RELEASED, whole(1, 4))).toEqual([whole(3, 3)]);
  asked.length = 0;
  expect(await stretchesWithin(reader, RELEASED, whole(0, 5))).toEqual([whole(3, 3)]);
  expect(asked).toEqual([0, 5].map((segment) => ({ gt: startOf(segment) - 1n, lte: startOf(segment + 1) - 1n })));
});

test('a segment that was pruned in part after it was looked through still shows what is left of it', async () => {
  const databaseUrl = await createDatabase();
  const prisma = await openReader(databaseUrl);
  const revisions = [5n, 6n, 7n, startOf(1) + 5n];
  await insertEvents(
    databaseUrl,
    revisions.map((revision) => ({ revision, type: 'RELEASED' })),
  );
  const search = async (from: bigint, oldestFirst: boolean) => {
    const found = await searchEvents(prisma, RELEASED, { from, to: whole(0, 1).to }, 10, oldestFirst);
    return found.map(({ revision }) => revision);
  };
  expect(await search(1n, true)).toEqual(revisions);
  await runSql(databaseUrl, 'DELETE FROM lock_events WHERE revision <= 6');
  expect(await search(7n, true)).toEqual(revisions.slice(2));
  expect(await search(7n, false)).toEqual(revisions.slice(2).reverse());
});
