import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { openPrismaClient, type PrismaReader } from '../../../src/store/prisma-clients.js';
import { createDatabase } from '../../support/database.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { cancel, terminate, untilThereIs, WAITS_FOR_THE_LOCK } from './sessions.js';

const UNAVAILABLE = { name: 'StoreUnavailable', applied: false };
const isUnavailable = expect.objectContaining(UNAVAILABLE);

async function openClient() {
  const databaseUrl = await createDatabase();
  const proxy = await TcpProxy.start(databaseUrl);
  const prisma = await openPrismaClient(proxy.through(databaseUrl));
  onTestFinished(() => prisma.$disconnect());
  await prisma.distributedLock.findFirst();
  return { databaseUrl, proxy, prisma };
}

/** Both ways in which the service reads; what went wrong, or null. */
function readBoth(prisma: PrismaReader): Promise<unknown[]> {
  const reads = [prisma.distributedLock.findFirst(), prisma.$queryRaw`SELECT count(*) FROM distributed_locks`];
  return Promise.all(
    reads.map((read) =>
      read.then(
        () => null,
        (error: unknown) => error,
      ),
    ),
  );
}

/** As an administrator who changes a table by hand; resolves to how to let go of it. */
async function lockTable(databaseUrl: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('BEGIN; LOCK TABLE distributed_locks');
  return () => client.end();
}

test('reads that are kept waiting, or find no connection because others are, are unavailable after seconds', async () => {
  const { databaseUrl, prisma } = await openClient();
  const letGo = await lockTable(databaseUrl);
  const startedAt = performance.now();
  const errors = await Promise.all([readBoth(prisma), readBoth(prisma), readBoth(prisma)]);
  expect(errors.flat()).toEqual(Array(6).fill(isUnavailable));
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  await letGo();
  expect(await readBoth(prisma)).toEqual([null, null]);
});

test('reads whose connection breaks, or whose session or statement is ended, are unavailable, and the next ones are answered', async () => {
  const { databaseUrl, proxy, prisma } = await openClient();
  for (const fault of [
    async () => {
      proxy.cut();
    },
    () => terminate(databaseUrl, WAITS_FOR_THE_LOCK),
    () => cancel(databaseUrl, WAITS_FOR_THE_LOCK),
  ]) {
    const letGo = await lockTable(databaseUrl);
    const errors = readBoth(prisma);
    await untilThereIs(databaseUrl, WAITS_FOR_THE_LOCK, 2);
    await fault();
    expect(await errors).toEqual([isUnavailable, isUnavailable]);
    await letGo();
    expect(await readBoth(prisma)).toEqual([null, null]);
  }
});

test('reads of a database that is not there are unavailable, and are answered when it is back', async () => {
  const { proxy, prisma } = await openClient();
  proxy.refuse();
  proxy.cut();
  await sleep(50);
  expect(await readBoth(prisma)).toEqual([isUnavailable, isUnavailable]);
  proxy.pass();
  expect(await readBoth(prisma)).toEqual([null, null]);
});
