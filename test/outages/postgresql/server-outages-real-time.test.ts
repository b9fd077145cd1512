import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { startPostgresqlServer } from '../../support/postgresql.js';
import { runSql } from '../../support/sql.js';
import { Service } from './service.js';

const TIMEOUT_MS = 60_000;
const END_TIMEOUT_MS = 10_000;

async function dataDirectory(databaseUrl: string): Promise<string> {
  const [row] = await runSql(databaseUrl, 'SHOW data_directory');
  return String(row?.['data_directory']);
}

test('a service whose server is stopped or killed says so until it is started again', { timeout: TIMEOUT_MS }, async () => {
  const server = await startPostgresqlServer();
  const service = await Service.start(server.url);
  await server.stop();
  await service.expectOutage();
  await server.start();
  await service.expectRecovery();
  await server.kill();
  await service.expectOutage();
  await server.start();
  await service.expectRecovery();
});

test('a service whose server has become a standby reads, and writes when that is promoted', { timeout: TIMEOUT_MS }, async () => {
  const server = await startPostgresqlServer();
  const service = await Service.start(server.url);
  const directory = await dataDirectory(server.url);
  await server.stop();
  writeFileSync(join(directory, 'standby.signal'), '');
  // It is started, in its own words, only as a primary.
  const isPrimary = server.start();
  const isStandby = async () => (await runSql(server.url, 'SELECT pg_is_in_recovery() AS answer'))[0]?.['answer'];
  await expect.poll(() => isStandby().catch(() => null), { timeout: 10_000 }).toBe(true);
  await service.expectOutageOfWrites();
  await runSql(server.url, 'SELECT pg_promote()');
  await isPrimary;
  await service.expectRecovery();
});

test('a service that can not log in any more says so until it can', { timeout: TIMEOUT_MS }, async () => {
  const limits = { max_connections: 15, superuser_reserved_connections: 5, reserved_connections: 0 };
  const server = await startPostgresqlServer(limits);
  const password = randomBytes(8).toString('hex');
  await runSql(server.url, `CREATE ROLE service LOGIN PASSWORD '${password}'`);
  await runSql(server.url, 'CREATE DATABASE locks OWNER service');
  const url = new URL(server.url);
  Object.assign(url, { username: 'service', password, pathname: '/locks' });
  const service = await Service.start(url.href);
  // Each is waited for: what the service sends to one that is about to end may be done, and not be answered.
  const endSessions = (condition: string) =>
    runSql(server.url, `SELECT pg_terminate_backend(pid, ${END_TIMEOUT_MS}) FROM pg_stat_activity WHERE ${condition}`);

  // Others take every connection that it had or could have.
  const others: pg.Client[] = [];
  const takeOne = async () => {
    await endSessions("application_name = 'holdfast'");
    const other = new pg.Client({ connectionString: url.href });
    await other.connect().then(
      () => others.push(other),
      () => undefined,
    );
    return others.length;
  };
  await expect.poll(takeOne, { interval: 0, timeout: 30_000 }).toBe(limits.max_connections - limits.superuser_reserved_connections);
  await service.expectOutage();
  await Promise.all(others.map((other) => other.end()));
  await service.expectRecovery();

  await runSql(server.url, "ALTER ROLE service PASSWORD 'another one'");
  // One that is logging in just now does not say yet whose it is.
  await endSessions("backend_type = 'client backend' AND pid <> pg_backend_pid()");
  await service.expectOutage();
  await runSql(server.url, `ALTER ROLE service PASSWORD '${password}'`);
  await service.expectRecovery();
});

/** No file of the server may grow beyond this, which is what those of its write-ahead log have from the beginning. */
const FULL_BYTES = 16 * 1024 * 1024;

/** Large rows, and then such as are smaller than any event, until there is room for none: they are not kept, but where they were stays taken. */
const FILL_THE_LOG = [1_000, 1].map(
  (bytes) => `DO $$ BEGIN
      INSERT INTO lock_events SELECT -n, 0, repeat(' ', ${bytes}), 0, 0, '', '', 0, 0, 0, NULL, NULL FROM generate_series(1, 1000000) AS n;
    EXCEPTION WHEN OTHERS THEN NULL; END $$;`,
);

/** Sets the limit for all sessions that begin from now on; null: none. Of a full disk nothing else is needed than that it is full. */
async function limitFiles(databaseUrl: string, bytes: number | null): Promise<void> {
  // The server may limit itself: the account of the tests is another one, and may not. A shell begins in its directory.
  const limit = `prlimit --pid $(head -n 1 postmaster.pid) --fsize=${bytes ?? 'unlimited'}:`;
  await runSql(databaseUrl, `COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; ${limit}'`);
  await runSql(databaseUrl, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'");
}

test.runIf(process.platform === 'linux')(
  'a service whose database has no room for another page reads, and writes when there is room again',
  { timeout: TIMEOUT_MS },
  async () => {
    const server = await startPostgresqlServer();
    const service = await Service.start(server.url);
    await limitFiles(server.url, FULL_BYTES);
    for (const sql of FILL_THE_LOG) await runSql(server.url, sql);
    await service.expectOutageOfWrites();
    await limitFiles(server.url, null);
    await service.expectRecovery();
  },
);
