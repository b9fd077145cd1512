import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createDatabase } from '../support/database.js';
import { rounds, timeLimit } from '../support/rounds.js';
import { startServerProcess } from '../support/server-process.js';
import { workUntilCut } from './load.js';
import { expectAllInLog, expectLocksToFollowFromLog, expectOneHistory, type Acknowledged } from './log-checks.js';
import type { LockApi } from './lock-api.js';
import { Session } from './session.js';

const KILLS = rounds(20, 2);
const WORKERS = 8;
const LOAD_MS = { least: 200, most: 700 };

/** Kills the server at a random moment of its work; adds what it had acknowledged until then. */
async function killUnderLoad(env: Record<string, string>, acknowledged: Acknowledged[]): Promise<void> {
  const { url, process: server, exited } = await startServerProcess(env);
  const sessions = await Promise.all(Array.from({ length: WORKERS }, () => Session.open(url)));
  const before = acknowledged.length;
  const work = Promise.all(sessions.map((session) => workUntilCut(session, (change) => acknowledged.push(change))));
  await expect.poll(() => acknowledged.length, { interval: 5, timeout: 10_000 }).toBeGreaterThan(before);
  // The moment of the kill is the point: nothing is waited for.
  await sleep(LOAD_MS.least + Math.random() * (LOAD_MS.most - LOAD_MS.least));
  server.kill('SIGKILL');
  await exited;
  await work;
}

async function expectNothingLost(api: LockApi, acknowledged: readonly Acknowledged[]): Promise<void> {
  const log = await api.events();
  expectOneHistory(log);
  expectAllInLog(acknowledged, log);
  await expectLocksToFollowFromLog(api);
}

test(
  'a server killed under load has lost nothing that it acknowledged, and goes on in one history without a gap',
  { timeout: timeLimit(60_000) },
  async () => {
    const env = { DATABASE_URL: await createDatabase() };
    const acknowledged: Acknowledged[] = [];
    let logId: string | null = null;
    for (let kill = 0; kill < KILLS; kill++) {
      await killUnderLoad(env, acknowledged);
      const next = await startServerProcess(env);
      const { api } = await Session.open(next.url);
      await expectNothingLost(api, acknowledged);
      const head = await api.head();
      expect(head.logId).toBe((logId ??= head.logId));
      next.process.kill('SIGKILL');
      await next.exited;
    }
    expect(acknowledged.length).toBeGreaterThan(10 * KILLS);
    expect(new Set(acknowledged.map(({ type }) => type))).toEqual(new Set(['ACQUIRED', 'RENEWED', 'RELEASED']));
  },
);
