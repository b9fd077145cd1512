import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readLog } from '../cluster/log-view.js';
import { LogWatcher } from '../cluster/log-watcher.js';
import { startTestApps, type TestApp } from '../support/app.js';
import { rounds, timeLimit } from '../support/rounds.js';
import { httpApi } from './lock-api.js';
import { workUntilCut } from './load.js';
import { Session } from './session.js';

const RESUMES = rounds(1_000, 60);
const WORKERS = 4;
const LONGEST_MS = 20;
const REACH_MS = 10_000;

/** Changes all over the instances, until it is stopped. */
async function startLoad(urls: readonly string[]): Promise<{ stop: () => Promise<void> }> {
  const sessions = await Promise.all(Array.from({ length: WORKERS }, (_, n) => Session.open(urls[n % urls.length] as string)));
  const done = sessions.map((session) => workUntilCut(session, () => undefined));
  return {
    stop: async () => {
      for (const session of sessions) session.cut();
      await Promise.all(done);
    },
  };
}

/** It was told the whole log, in order, nothing twice, and nothing else. */
async function expectWholeLog(watcher: LogWatcher, url: string): Promise<void> {
  // What expires meanwhile comes after.
  const log = await readLog(httpApi(url));
  await watcher.reach(log.at(-1)?.revision ?? 0n, REACH_MS);
  await watcher.stop();
  expect(watcher.faults).toEqual([]);
  expect(watcher.changes.slice(0, log.length)).toEqual(log);
  expect(log.map(({ revision }) => revision)).toEqual(log.map((_, index) => BigInt(index + 1)));
}

test(
  'a watch that is cut off at random, and resumes on the other instance under load, is told the log, each revision once',
  { timeout: timeLimit(60_000) },
  async () => {
    const urls = (await startTestApps(2)).map(({ url }) => url);
    const load = await startLoad(urls);
    const watcher = new LogWatcher({ urls, resumeAfterMs: 0 });
    while (watcher.subscriptions < RESUMES) {
      await sleep(Math.random() * LONGEST_MS);
      watcher.cut();
    }
    await load.stop();
    await expectWholeLog(watcher, urls[0] ?? '');
  },
);

test('a watch whose instance shuts down under load goes on at another one, and misses nothing', async () => {
  const [leaving, staying] = (await startTestApps(2)) as [TestApp, TestApp];
  const load = await startLoad([staying.url]);
  const watcher = new LogWatcher({ urls: [leaving.url, staying.url], resumeAfterMs: 0 });
  await watcher.reach(20n, REACH_MS);
  expect(watcher.subscriptions).toBe(1);
  await leaving.close();
  const closedAt = watcher.revision;
  await watcher.reach(closedAt + 20n, REACH_MS);
  await load.stop();
  await expectWholeLog(watcher, staying.url);
  expect(watcher.subscriptions).toBe(2);
});
