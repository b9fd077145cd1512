import { randomBytes } from 'node:crypto';
import { expect, inject, onTestFinished, vi } from 'vitest';
import { urlOfDatabase, withClient } from './postgresql/client.js';
import { PostgresqlServerProcess, type PostgresqlSettings } from './postgresql/server-process.js';
import { whenOver } from './shared.js';

/** How long the sessions of a client that is gone may take to end. */
const LEAK_TIMEOUT_MS = 5_000;

/**
 * The URL of a new database without any table. It is dropped when the test is over; a session that is still open on it by
 * then, though all that the test started is closed, fails the test.
 */
export function createPostgresqlDatabase(): Promise<string> {
  return createDatabase(inject('postgresqlServer').empty);
}

/** As {@link createPostgresqlDatabase}, with the schema up to date. */
export function createMigratedPostgresqlDatabase(): Promise<string> {
  return createDatabase(inject('postgresqlServer').migrated);
}

/**
 * A server for one test alone, which the test may stop, kill and start again. It is removed when the test is over.
 *
 * @param settings parameters of PostgreSQL that differ from those of all tests.
 */
export async function startPostgresqlServer(settings: PostgresqlSettings = {}): Promise<PostgresqlServerProcess> {
  const server = await PostgresqlServerProcess.create(settings);
  onTestFinished(() => server.remove());
  return server;
}

async function createDatabase(how: string): Promise<string> {
  const { url, prefix } = inject('postgresqlServer');
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  await withClient(url, (client) => client.query(`CREATE DATABASE ${name} ${how}`));
  // What was started on the database later is closed by then.
  whenOver(() => dropDatabase(url, name));
  return urlOfDatabase(url, name);
}

async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await withClient(serverUrl, async (client) => {
    const openSessions = async () => {
      const sql = `SELECT application_name, state, query FROM pg_stat_activity
                   WHERE datname = $1 AND backend_type = 'client backend'`;
      return (await client.query<Record<string, unknown>>(sql, [name])).rows;
    };
    try {
      await vi.waitFor(async () => expect(await openSessions(), 'sessions left open').toEqual([]), LEAK_TIMEOUT_MS);
    } finally {
      await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
    }
  });
}
