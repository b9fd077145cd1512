import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startTestApp, startTestApps } from '../support/app.js';
import { rounds, timeLimit } from '../support/rounds.js';
import { lockOf } from './lock-api.js';
import { Session } from './session.js';
import type { Watch } from './watch.js';

const SPREAD_MS = 20;

/** The tokens that a watch has told, in the snapshot or as events. */
function tokensOf({ items }: Watch): string[] {
  return items.flatMap((item) => {
    if (item.__typename === 'LockSnapshot') return item.locks.map(({ fencingToken }) => fencingToken);
    return item.__typename === 'LockEvent' ? [item.fencingToken] : [];
  });
}

test.each([
  ['', 1],
  [' of another instance', 2],
])('an acquire at any moment around the start of a watch%s is told by it', { timeout: timeLimit(60_000) }, async (_, instances) => {
  const apps = await startTestApps(instances);
  const [watcher, worker] = [await Session.open(apps[0]?.url ?? ''), await Session.open(apps.at(-1)?.url ?? '')];
  let inSnapshot = 0;
  for (let round = 0; round < rounds(500); round++) {
    const resource = `r/${round}`;
    const delayMs = Math.random() * SPREAD_MS;
    const isWatchFirst = Math.random() < 0.5;
    const acquire = async () => lockOf(await worker.api.acquire(resource, 'A'));
    const acquired = isWatchFirst ? sleep(delayMs).then(acquire) : acquire();
    if (!isWatchFirst) await sleep(delayMs);
    const watch = await watcher.watch({ filter: { resource } });
    const { fencingToken } = await acquired;

    await watch.until(() => tokensOf(watch).includes(fencingToken), 2_000);
    if (watch.items.length === 1) inSnapshot += 1;
    watch.stop();
  }
  // Else all acquires came on one side, and nothing was tried.
  expect(inSnapshot).toBeGreaterThan(0);
  expect(inSnapshot).toBeLessThan(rounds(500));
});

test('a watch that resumes from the revision of an earlier list misses no change after it', async () => {
  const session = await Session.open((await startTestApp()).url);
  const { api } = session;
  await api.acquire('before', 'A');
  const { locks } = await api.query<{ locks: { revision: string } }>('{ locks { revision } }');
  const between = lockOf(await api.acquire('between', 'A'));
  const watch = await session.watch({ after: locks.revision });
  const after = lockOf(await api.acquire('after', 'A'));
  await watch.reach(after.revision);
  expect(tokensOf(watch)).toEqual([between.fencingToken, after.fencingToken]);
});
