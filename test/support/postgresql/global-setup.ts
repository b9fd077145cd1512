import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { applyMigrations } from '../../../src/store/migrations.js';
import { EMPTY, urlOfDatabase, withClient } from './client.js';
import { PostgresqlServerProcess } from './server-process.js';

/** What the tests of a run share. */
export interface SharedServer {
  /** Of a database from which others can be created and dropped. */
  readonly url: string;
  /** What the names of this run's databases begin with: another run may use the same server. */
  readonly prefix: string;
  /** The name of a database whose schema is up to date, to be copied. */
  readonly template: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    postgresqlServer: SharedServer;
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Before the first test that needs PostgreSQL: a server for this run alone, or the one that TEST_DATABASE_URL names. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  // The server is stopped when this process exits, which it would not do orderly by itself.
  for (const signal of SIGNALS) process.once(signal, () => process.exit(1));
  const { TEST_DATABASE_URL: givenUrl = '' } = process.env;
  const own = givenUrl === '' ? await PostgresqlServerProcess.create() : null;
  const url = own?.url ?? givenUrl;
  const prefix = `holdfast_test_${randomBytes(6).toString('hex')}`;
  const template = `${prefix}_template`;
  const tearDown = async () => {
    if (own !== null) await own.remove();
    else await withClient(url, (client) => client.query(`DROP DATABASE IF EXISTS ${template} WITH (FORCE)`));
  };
  try {
    await createTemplate(url, template);
  } catch (error) {
    await tearDown();
    throw error;
  }
  project.provide('postgresqlServer', { url, prefix, template });
  return tearDown;
}

async function createTemplate(serverUrl: string, name: string): Promise<void> {
  await withClient(serverUrl, (client) => client.query(`CREATE DATABASE ${name} ${EMPTY}`));
  await applyMigrations(urlOfDatabase(serverUrl, name));
  // It can't be copied while somebody is connected to it.
  await withClient(serverUrl, (client) => client.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`));
}
