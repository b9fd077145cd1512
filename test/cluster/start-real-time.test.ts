import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { MIGRATIONS_ROOT } from '../../src/store/migrations/migration-folders.js';
import { withClient } from '../support/postgresql/client.js';
import { createPostgresqlDatabase } from '../support/postgresql.js';
import { rounds, timeLimit } from '../support/rounds.js';
import { startServerProcess } from '../support/server-process.js';

const INSTANCES = 5;
const MIGRATIONS = readdirSync(join(MIGRATIONS_ROOT, 'postgresql/migrations')).filter((name) => /^\d/.test(name)).length;
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

describe('an empty database, on which five instances start at once,', () => {
  test('gets its schema once, and all become ready', { timeout: 120_000 }, async () => {
    const url = await createPostgresqlDatabase();
    await expectAllReady(await startInstances(url, INSTANCES));
    expect(await appliedMigrations(url)).toEqual({ finished: MIGRATIONS, others: 0 });
  });

  test('is brought up to date though one of them is killed meanwhile', { timeout: timeLimit(120_000) }, async () => {
    for (let round = 0; round < rounds(20, 2); round++) {
      const url = await createPostgresqlDatabase();
      const others = startInstances(url, INSTANCES - 1);
      await startAndKill(url, 200 + Math.random() * 500);
      await expectAllReady([...(await others), ...(await startInstances(url, 1))]);
      expect(await appliedMigrations(url)).toEqual({ finished: MIGRATIONS, others: 0 });
    }
  });
});

function startInstances(databaseUrl: string, count: number) {
  return Promise.all(Array.from({ length: count }, () => startServerProcess({ DATABASE_URL: databaseUrl })));
}

async function startAndKill(databaseUrl: string, afterMs: number): Promise<void> {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env['PATH'], PORT: '0', DATABASE_URL: databaseUrl },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  await sleep(afterMs);
  child.kill('SIGKILL');
  await exited;
}

async function expectAllReady(instances: readonly { readonly url: string }[]): Promise<void> {
  const answers = instances.map(({ url }) => fetch(new URL('/health/ready', url)));
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(instances.map(() => 200));
}

async function appliedMigrations(databaseUrl: string) {
  const sql = `SELECT count(*) FILTER (WHERE finished_at IS NOT NULL)::int AS finished,
                      count(*) FILTER (WHERE finished_at IS NULL)::int AS others FROM _prisma_migrations`;
  const { rows } = await withClient(databaseUrl, (client) => client.query<{ finished: number; others: number }>(sql));
  return rows[0];
}
