import { expect, onTestFinished, test } from 'vitest';
import { openPrismaClient } from '../../src/store/prisma-clients.js';
import { createDatabase } from '../support/database.js';
import { runSql } from '../support/sql.js';

/** More than a double can tell apart. */
const REVISION = 9_007_199_254_740_993n;

async function databaseAndClient() {
  const databaseUrl = await createDatabase();
  const client = await openPrismaClient(databaseUrl);
  onTestFinished(() => client.$disconnect());
  return { databaseUrl, client };
}

test('numbers above 2^53 are read to the last digit', async () => {
  const { databaseUrl, client } = await databaseAndClient();
  const insert = `INSERT INTO lock_events VALUES ($1, $1, 'ACQUIRED', $1, $1, 'job:1', 'a', $1, $1, $1, NULL, NULL)`;
  await runSql(databaseUrl, insert, [REVISION]);
  const [event] = await client.lockEvent.findMany({ where: { revision: { gte: REVISION } } });
  expect(event).toMatchObject({ revision: REVISION, at: REVISION, fencingToken: REVISION, expiresAt: REVISION });
});

test('small 64-bit numbers are read as bigints as well', async () => {
  const { client } = await databaseAndClient();
  expect(await client.lockClock.findMany()).toMatchObject([{ id: 1, revision: 0n, oldestRevision: 0n, at: 0n }]);
});

test('a row whose id is beyond 32 bits is read without it', async () => {
  const { databaseUrl, client } = await databaseAndClient();
  const insert = `INSERT INTO distributed_locks VALUES (4294967299, 'job:1', 'a', 1, 1, 0, 9, 9, NULL, false, NULL, false)`;
  await runSql(databaseUrl, insert);
  expect(await client.distributedLock.findUnique({ where: { resource: 'job:1' } })).toEqual({
    resource: 'job:1',
    owner: 'a',
    fencingToken: 1n,
    revision: 1n,
    acquiredAt: 0n,
    expiresAt: 9n,
    ttlMs: 9,
    requestId: null,
    reacquired: false,
    metadata: null,
    expiryRecorded: false,
  });
});
