import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { timeLimit } from '../../support/rounds.js';
import { startServerProcess, type ServerProcess } from '../../support/server-process.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { ApiError, type Answer, type LockApi } from '../lock-api.js';
import { Session } from '../session.js';

const acquireNames = (api: LockApi, prefix: string, count: number) =>
  Promise.allSettled(Array.from({ length: count }, (_, n) => api.acquire(`${prefix}:${n}`, 'A')));

const isLock = (result: PromiseSettledResult<Answer>) =>
  result.status === 'fulfilled' && result.value.__typename === 'LockAcquired';

/** A process of its own that is inside a transaction on the file, until the returned function ends it. */
async function holdTransaction(path: string, begin: string): Promise<() => Promise<void>> {
  const script = `
    import Database from 'better-sqlite3';
    const database = new Database(${JSON.stringify(path)});
    database.exec(${JSON.stringify(begin)});
    database.prepare('SELECT * FROM lock_clock').all();
    console.log('holding');
    process.stdin.once('data', () => {
      database.exec('COMMIT');
      process.exit();
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.write('end');
    await once(child, 'exit');
  };
}

interface Busy {
  readonly path: string;
  readonly server: ServerProcess;
  readonly api: LockApi;
  /** Lets the other process go, after that time. */
  readonly endAfter: (ms: number) => Promise<void>;
}

async function whileHeldBy(begin: string): Promise<Busy> {
  const path = join(temporaryDirectory(), 'holdfast.db');
  const server = await startServerProcess({ DATABASE_URL: `file:${path}` });
  const { api } = await Session.open(server.url);
  const end = await holdTransaction(path, begin);
  return { path, server, api, endAfter: (ms) => sleep(ms).then(end) };
}

/** A hundred more acquires, each of which has to work; then the server is killed, and the next one holds exactly these names. */
async function expectToGoOn({ path, server, api }: Busy, acquiredBefore: readonly string[]): Promise<void> {
  const fresh = await acquireNames(api, 'fresh', 100);
  expect(fresh.filter(isLock)).toHaveLength(100);
  server.process.kill('SIGKILL');
  await server.exited;
  const { url } = await startServerProcess({ DATABASE_URL: `file:${path}` });
  const held = (await (await Session.open(url)).api.locks()).map(({ resource }) => resource);
  expect(held.sort()).toEqual([...acquiredBefore, ...fresh.map((_, n) => `fresh:${n}`)].sort());
}

const during = Array.from({ length: 20 }, (_, n) => `during:${n}`);

test(
  'acquires while another process reads in a long transaction are not kept waiting, and none is lost',
  { timeout: timeLimit(60_000) },
  async () => {
    const busy = await whileHeldBy('BEGIN');
    const results = await acquireNames(busy.api, 'during', 20);
    await busy.endAfter(0);
    expect(results.filter(isLock)).toHaveLength(20);
    await expectToGoOn(busy, during);
  },
);

test(
  'acquires while another process holds the database for three seconds wait for it, and none is lost',
  { timeout: timeLimit(60_000) },
  async () => {
    const busy = await whileHeldBy('BEGIN EXCLUSIVE');
    const [results] = await Promise.all([acquireNames(busy.api, 'during', 20), busy.endAfter(3_000)]);
    expect(results.filter(isLock)).toHaveLength(20);
    await expectToGoOn(busy, during);
  },
);

test(
  'acquires while another process holds the database for long are told to retry and are not applied, and all works afterwards',
  { timeout: timeLimit(60_000) },
  async () => {
    const busy = await whileHeldBy('BEGIN EXCLUSIVE');
    const [results] = await Promise.all([acquireNames(busy.api, 'during', 20), busy.endAfter(15_000)]);
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).not.toEqual([]);
    for (const { reason } of refused) {
      expect(reason).toBeInstanceOf(ApiError);
      expect(reason).toHaveProperty('extensions', { code: 'UNAVAILABLE', retryable: true, applied: false });
    }
    // Those whose turn came only when the other process was done may have got their lock.
    await expectToGoOn(
      busy,
      during.filter((_, n) => results[n] !== undefined && isLock(results[n])),
    );
  },
);
