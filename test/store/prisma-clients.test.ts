import { join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sqlitePath } from '../../src/store/database-url.js';
import { applyMigrations } from '../../src/store/migrations.js';
import { openPrismaClient } from '../../src/store/prisma-clients.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** More than a double can tell apart. */
const REVISION = 9_007_199_254_740_993n;

async function databaseAndClient() {
  const path = join(temporaryDirectory(), 'holdfast.db');
  await applyMigrations(`file:${path}`);
  const database = new Database(path);
  const client = await openPrismaClient(`file:${path}`);
  onTestFinished(async () => {
    await client.$disconnect();
    database.close();
  });
  return { database, client };
}

describe('the client', () => {
  test('of numbers above 2^53 reads every digit', async () => {
    const { database, client } = await databaseAndClient();
    database
      .prepare(`INSERT INTO lock_events VALUES (:r, :r, 'ACQUIRED', :r, :r, 'job:1', 'a', :r, :r, :r, NULL, NULL)`)
      .run({ r: REVISION });
    const [event] = await client.lockEvent.findMany({ where: { revision: { gte: REVISION } } });
    expect(event).toMatchObject({ revision: REVISION, at: REVISION, fencingToken: REVISION, expiresAt: REVISION });
  });

  test('of small 64-bit numbers reads bigints as well', async () => {
    const { client } = await databaseAndClient();
    expect(await client.lockClock.findMany()).toMatchObject([{ id: 1, revision: 0n, oldestRevision: 0n, at: 0n }]);
  });

  test('of a row whose id is beyond 32 bits reads the row without it', async () => {
    const { database, client } = await databaseAndClient();
    database.exec(`INSERT INTO distributed_locks VALUES (4294967299, 'job:1', 'a', 1, 1, 0, 9, 9, NULL, 0, NULL, 0)`);
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

  test('can’t write', async () => {
    const { client } = await databaseAndClient();
    await expect(client.lockClock.updateMany({ data: { at: 1n } })).rejects.toThrow();
  });

  test('of a directory that does not exist is refused by its name', async () => {
    const directory = join(temporaryDirectory(), 'missing');
    await expect(openPrismaClient(`file:${directory}/holdfast.db`)).rejects.toThrow(`there is no directory ${directory}`);
  });
});

describe('the path of a file: URL', () => {
  test.each([
    ['file:./holdfast.db', resolve('holdfast.db')],
    ['file:data/holdfast.db', resolve('data/holdfast.db')],
    ['file:/var/lib/holdfast.db', '/var/lib/holdfast.db'],
    ['file:///var/lib/hold%20fast.db', '/var/lib/hold fast.db'],
  ])('%s is %s', (url, path) => {
    expect(sqlitePath(url)).toBe(path);
  });
});
