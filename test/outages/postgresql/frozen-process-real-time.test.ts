import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { acknowledgedBy, expectAllInLog, expectOneHistory, type Acknowledged } from '../../faults/log-checks.js';
import { ApiError, type LockApi } from '../../faults/lock-api.js';
import { Session } from '../../faults/session.js';
import { acquire } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { startServerProcess, type ServerProcess } from '../../support/server-process.js';
import { answerTo } from './answers.js';
import { HOLDS_THE_LOCK, pidsOf } from './sessions.js';
import { openQuietStore } from './store.js';

/** How long one instance may keep the others waiting. */
const PATIENCE_MS = 5_000;
const WORKERS = 64;
/** More than workers: most acquires succeed, and some are refused. */
const RESOURCES = 200;
/** How often it is frozen before it is caught with the lock, at the most: under this load it is about every second time. */
const CATCHES = 60;

interface Load {
  readonly acknowledged: Acknowledged[];
  readonly errors: ApiError[];
  /** Resolves when what is under way is answered. */
  stop(): Promise<void>;
}

/** Many callers that acquire and release, one after the other. */
function startLoad(api: LockApi): Load {
  const acknowledged: Acknowledged[] = [];
  const errors: ApiError[] = [];
  let isStopped = false;
  const work = async (owner: string): Promise<void> => {
    while (!isStopped) {
      try {
        const resource = `load:${Math.floor(Math.random() * RESOURCES)}`;
        for (const ask of [() => api.acquire(resource, owner), () => api.release(resource, owner)]) {
          const change = acknowledgedBy(await ask(), resource, owner);
          if (change !== null) acknowledged.push(change);
        }
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        errors.push(error);
      }
    }
  };
  // Where the test fails before, nobody waits for them.
  const workers = Array.from({ length: WORKERS }, (_, n) => work(`worker:${n}`));
  const allDone = Promise.all(workers);
  allDone.catch(() => undefined);
  return {
    acknowledged,
    errors,
    stop: async () => {
      isStopped = true;
      await allDone;
    },
  };
}

/** Freezes the process in the middle of a transaction, with the lock. */
async function freezeWithLock({ process: server }: ServerProcess, databaseUrl: string): Promise<void> {
  for (let n = 0; n < CATCHES; n++) {
    server.kill('SIGSTOP');
    // What the database was doing for it comes to its end.
    await sleep(20);
    if ((await pidsOf(databaseUrl, HOLDS_THE_LOCK)).length > 0) return;
    server.kill('SIGCONT');
    await sleep(Math.random() * 20);
  }
  throw new Error('It never had the lock');
}

test('a process that is frozen with the lock keeps nobody waiting for long, answers truly when it wakes up, and goes on', async () => {
  const databaseUrl = await createDatabase();
  const server = await startServerProcess({ DATABASE_URL: databaseUrl });
  const { api } = await Session.open(server.url);
  const other = await openQuietStore(databaseUrl);
  await answerTo(other, acquire('warm', 'other'));
  const load = startLoad(api);
  await expect.poll(() => load.acknowledged.length, { timeout: PATIENCE_MS }).toBeGreaterThan(1_000);

  await freezeWithLock(server, databaseUrl);
  const first = await answerTo(other, acquire('job', 'other'));
  expect(first.answer).toBe('acquired');
  expect(first.afterMs).toBeLessThan(PATIENCE_MS);
  // The others are not kept waiting again.
  const second = await answerTo(other, acquire('job:2', 'other'));
  expect(second.afterMs).toBeLessThan(PATIENCE_MS);

  // So long that its callers would rather be told than wait for another try.
  await sleep(1_500);
  server.process.kill('SIGCONT');
  const before = load.acknowledged.length;
  await expect.poll(() => load.acknowledged.length, { timeout: PATIENCE_MS }).toBeGreaterThan(before + 1_000);
  await load.stop();
  expect(server.process.exitCode).toBeNull();
  for (const { extensions } of load.errors) expect(extensions).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
  const log = await api.events();
  expectOneHistory(log);
  expectAllInLog(load.acknowledged, log);
});
