import { expect, test } from 'vitest';
import { Feed } from '../../src/engine/feed.js';
import type { LockStore, LogPage } from '../../src/store/lock-store.js';
import { RecordingObserver } from '../support/observer.js';

/** So many turns of the microtask queue are more than a read of the log takes from its answer to its end. */
const TURNS = 20;

async function turn(times: number): Promise<void> {
  for (let n = 0; n < times; n++) await Promise.resolve();
}

/** A feed of a log that grows when it is told to, and becomes another history when it is told to. */
function startFeed() {
  const log = { logId: 'first', revision: 0n, oldestRevision: 0n };
  const readLog = (after: bigint): Promise<LogPage> => {
    const events = Array.from({ length: Number(log.revision - after) }, (_, n) => ({
      revision: after + BigInt(n) + 1n,
      writtenAt: 0,
    }));
    return Promise.resolve({ ...log, events, through: log.revision } as unknown as LogPage);
  };
  const observer = new RecordingObserver();
  const feed = new Feed({ readLog } as unknown as LockStore, { ...log }, observer, 1000, {
    granted: () => undefined,
    lost: () => undefined,
  });
  return { feed, log, observer };
}

const moments = Array.from({ length: TURNS }, (_, n) => n);

test.each(moments)('a wake-up %i microtasks after another one is not lost', async (moment) => {
  const { feed, log } = startFeed();
  log.revision = 1n;
  feed.wake();
  await turn(moment);
  log.revision = 2n;
  feed.wake();
  await turn(2 * TURNS);
  expect(feed.revision).toBe(2n);
});

test.each(moments)('a wake-up %i microtasks after one that finds another history is not lost', async (moment) => {
  const { feed, log } = startFeed();
  Object.assign(log, { logId: 'second', revision: 1n, oldestRevision: 1n });
  feed.wake();
  await turn(moment);
  log.revision = 2n;
  feed.wake();
  await turn(2 * TURNS);
  expect(feed.bookmark()).toMatchObject({ logId: 'second', revision: 2n });
});

test('a wake-up after a read that failed reads again', async () => {
  const { feed, log, observer } = startFeed();
  const { store } = feed;
  const { readLog } = store;
  store.readLog = () => Promise.reject(new Error('gone'));
  feed.wake();
  await turn(TURNS);
  expect(observer.errors).toEqual([new Error('gone')]);
  store.readLog = readLog;
  log.revision = 1n;
  feed.wake();
  await turn(TURNS);
  expect(feed.revision).toBe(1n);
});
