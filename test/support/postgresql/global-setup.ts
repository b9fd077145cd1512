import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { applyMigrations } from '../../../src/store/migrations.js';
import { urlOfDatabase, withClient } from './client.js';
import { PostgresqlServerProcess } from './server-process.js';

/** What the tests of a run share. */
export interface SharedServer {
  /** Of a database from which others can be created and dropped. */
  readonly url: string;
  /** What the names of this run's databases begin with: another run may use the same server. */
  readonly prefix: string;
  /** What follows `CREATE DATABASE name`, for one without any table. */
  readonly empty: string;
  /** The same for one whose schema is up to date. */
  readonly migrated: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    postgresqlServer: SharedServer;
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface RunningServer {
  readonly server: SharedServer;
  readonly stop: () => Promise<void>;
}

/** Each project loads this file for itself, so what they share is kept where all of them find it. */
const shared = globalThis as typeof globalThis & {
  holdfastTestServer?: { users: number; readonly running: Promise<RunningServer> };
};

/** Before the first test that needs PostgreSQL: a server for this run alone, or the one that TEST_DATABASE_URL names. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const held = (shared.holdfastTestServer ??= { users: 0, running: startServer() });
  held.users++;
  const { server, stop } = await held.running;
  project.provide('postgresqlServer', server);
  return async () => {
    if (--held.users > 0) return;
    delete shared.holdfastTestServer;
    await stop();
  };
}

async function startServer(): Promise<RunningServer> {
  // The server is stopped when this process exits; a signal would end the process without that.
  for (const signal of SIGNALS) process.once(signal, () => process.exit(1));
  const { TEST_DATABASE_URL: givenUrl = '' } = process.env;
  const own = givenUrl === '' ? await PostgresqlServerProcess.create() : null;
  const url = own?.url ?? givenUrl;
  const prefix = `holdfast_test_${randomBytes(6).toString('hex')}`;
  const template = `${prefix}_template`;
  const stop = async () => {
    if (own !== null) await own.remove();
    else await withClient(url, (client) => client.query(`DROP DATABASE IF EXISTS ${template} WITH (FORCE)`));
  };
  try {
    const empty = `TEMPLATE template0 ENCODING 'UTF8' ${await locale(url)}`;
    await createTemplate(url, template, empty);
    // Files in memory are copied faster than their blocks are logged; elsewhere the copy has to be flushed to the disk.
    const strategy = own === null ? '' : 'STRATEGY file_copy';
    return { server: { url, prefix, empty: `${empty} ${strategy}`, migrated: `TEMPLATE ${template} ${strategy}` }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Texts are ordered as a language orders them, as in most databases: whatever has to be ordered by code point must say so by
 * itself. Servers that are old, or were built without languages, have what they have.
 */
async function locale(serverUrl: string): Promise<string> {
  const sql = `SELECT current_setting('server_version_num')::int >= 150000
                  AND EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AS has_languages`;
  const { rows } = await withClient(serverUrl, (client) => client.query<{ has_languages: boolean }>(sql));
  return rows[0]?.has_languages === true ? "LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'" : '';
}

/** A copy of it takes far less time than to bring a database up to date. */
async function createTemplate(serverUrl: string, name: string, empty: string): Promise<void> {
  await withClient(serverUrl, (client) => client.query(`CREATE DATABASE ${name} ${empty}`));
  await applyMigrations(urlOfDatabase(serverUrl, name));
  // It can't be copied while somebody is connected to it.
  await withClient(serverUrl, (client) => client.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`));
}
