import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { INSTANCE_LEASE_MS } from '../../src/store/instance-lease.js';
import { createDatabase } from '../support/database.js';
import { rounds, timeLimit } from '../support/rounds.js';
import { startServerProcess } from '../support/server-process.js';
import { OWNERS, RESOURCES, waitUntilCut, WAITED_TTL_MS, workUntilCut } from './load.js';
import { expectAllInLog, expectLocksToFollowFromLog, expectOneHistory, type Acknowledged } from './log-checks.js';
import { lockOf, type LockApi } from './lock-api.js';
import { Session } from './session.js';

const KILLS = rounds(20, 2);
const WORKERS = 8;
const WAITERS = 12;
const ALL_KINDS = new Set(['ACQUIRED', 'RENEWED', 'RELEASED']);
const LOAD_MS = { least: 200, most: 700 };

/** How long after a server is dead a lock may be kept for those who waited there; and a little for a machine that is busy. */
const MOVES_ON_MS = INSTANCE_LEASE_MS + 1_000 + WAITED_TTL_MS + 1_000;

/** Kills the server at a random moment of its work; adds what it had acknowledged until then. Resolves to when it was dead. */
async function killUnderLoad(env: Record<string, string>, acknowledged: Acknowledged[]): Promise<number> {
  const { url, process: server, exited } = await startServerProcess(env);
  const sessions = await Promise.all(Array.from({ length: WORKERS + WAITERS }, () => Session.open(url)));
  const before = acknowledged.length;
  const work = Promise.all(
    sessions.map((session, number) => {
      const workOn = number < WORKERS ? workUntilCut : waitUntilCut;
      return workOn(session, (change) => acknowledged.push(change));
    }),
  );
  const kindsOfChanges = () => new Set(acknowledged.slice(before).map(({ type }) => type));
  await expect.poll(kindsOfChanges, { interval: 5, timeout: 30_000 }).toEqual(ALL_KINDS);
  // The moment of the kill is the point: nothing is waited for.
  await sleep(LOAD_MS.least + Math.random() * (LOAD_MS.most - LOAD_MS.least));
  server.kill('SIGKILL');
  await exited;
  const deadSince = Date.now();
  await work;
  return deadSince;
}

/** Whoever stood in line at the dead server is passed over in time: everything can be had again once its holders let it go. */
async function expectLinesToMoveOn(api: LockApi, deadSince: number): Promise<void> {
  const askedAt = Date.now();
  for (const owner of OWNERS) await api.releaseAll({ owner });
  const answers = await Promise.all(RESOURCES.map((resource) => api.acquire(resource, 'new', { ttlMs: 60_000, waitMs: 30_000 })));
  const grantedAt = answers.map((answer) => Date.parse(lockOf(answer).acquiredAt));
  expect(Math.max(...grantedAt) - deadSince).toBeLessThan(Math.max(MOVES_ON_MS, askedAt - deadSince + 2_000));
  await api.releaseAll({ owner: 'new' });
}

async function expectNothingLost(api: LockApi, acknowledged: readonly Acknowledged[]): Promise<void> {
  const log = await api.events();
  expectOneHistory(log);
  expectAllInLog(acknowledged, log);
  await expectLocksToFollowFromLog(api);
}

test(
  'a server killed under load has lost nothing that it acknowledged, and goes on in one history without a gap, and so do its lines',
  { timeout: timeLimit(120_000) },
  async () => {
    const env = { DATABASE_URL: await createDatabase() };
    const acknowledged: Acknowledged[] = [];
    let logId: string | null = null;
    for (let kill = 0; kill < KILLS; kill++) {
      const deadSince = await killUnderLoad(env, acknowledged);
      const next = await startServerProcess(env);
      const { api } = await Session.open(next.url);
      await expectLinesToMoveOn(api, deadSince);
      await expectNothingLost(api, acknowledged);
      const head = await api.head();
      expect(head.logId).toBe((logId ??= head.logId));
      next.process.kill('SIGKILL');
      await next.exited;
    }
    expect(acknowledged.length).toBeGreaterThan(10 * KILLS);
  },
);
