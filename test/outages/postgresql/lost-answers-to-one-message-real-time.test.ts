import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { acquire } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { runSql } from '../../support/sql.js';
import type { Stall } from '../../support/tcp-proxy.js';
import { answerTo } from './answers.js';
import { onlyMessageBytes } from './messages.js';
import { HOLDS_THE_LOCK, pidsOf } from './sessions.js';
import { stopTime } from './stopped-time.js';
import { acquisitionsOf, logOf, openQuietStore, openStoreBehindProxy } from './store.js';
import { expectUnknownWhereForgotten, expectUnknownWhereOutOfReach, forget, FOUND_OUT_MS } from './unheard.js';

/** Long enough for all that was sent to be where it can get. */
const QUIET_MS = 100;
/** Long enough for a message to have been sent, and much shorter than the time after which it is too late. */
const SENT_MS = 10;
const LEASE_MS = 50;

const HALF_WAY: Stall = { direction: 'toServer', afterBytes: Math.floor(onlyMessageBytes(acquire('job', 'A')) / 2) };
const LOG_TIME = 'SELECT at <= extract(epoch FROM clock_timestamp()) * 1000 AS "hasCome" FROM lock_clock';
const NO_ANSWER: Stall = { direction: 'toClient' };

/** A store that knows enough, but not that another one has changed something since. What it has acquired expires soon. */
async function openWarmStore(databaseUrl?: string) {
  const { store, proxy, databaseUrl: url } = await openStoreBehindProxy(databaseUrl);
  const other = await openQuietStore(url);
  await answerTo(store, acquire('mine', 'A', { ttlMs: LEASE_MS }));
  await answerTo(other, acquire('theirs', 'B'));
  return { store, proxy, other, databaseUrl: url };
}

/** The same where time stands still: no message comes too late to be stored as it was decided. */
async function openInStoppedTime() {
  const databaseUrl = await createDatabase();
  const time = await stopTime(databaseUrl);
  return { ...(await openWarmStore(databaseUrl)), time };
}

/** A group that was stored, and whose answer does not come. */
async function storeUnheard() {
  for (;;) {
    const opened = await openWarmStore();
    const { store, proxy, other } = opened;
    proxy.stall(NO_ANSWER);
    const answer = answerTo(store, acquire('job', 'A'));
    const expectStored = async () => expect(await acquisitionsOf(other)).toEqual(['mine A', 'theirs B', 'job A']);
    // Where the message came too late, the group waits for the answer to another one.
    const isStored = await vi.waitFor(expectStored).then(
      () => true,
      () => false,
    );
    if (isStored) return { ...opened, answer };
  }
}

describe('a group of one message whose connection breaks', () => {
  test('after it was stored and before the answer came, is told the true outcome, with the true tokens', async () => {
    const { store, proxy, other, time } = await openInStoppedTime();
    await time.advance(LEASE_MS);
    proxy.stall(NO_ANSWER);
    const group = store.commit([acquire('job', 'A'), acquire('mine', 'A'), acquire('job', 'A'), acquire('job', 'B')]);
    await expect.poll(() => acquisitionsOf(other)).toHaveLength(5);
    proxy.cut();
    proxy.pass();
    const { outcomes, events } = await group;
    expect((await logOf(other)).slice(2)).toEqual(events);
    expect(events.map(({ type, revision, fencingToken }) => [type, revision, fencingToken])).toEqual([
      ['EXPIRED', 3n, 1n],
      ['ACQUIRED', 4n, 4n],
      ['ACQUIRED', 5n, 5n],
      ['ACQUIRED', 6n, 6n],
    ]);
    expect(outcomes).toMatchObject([
      { kind: 'acquired', lock: { fencingToken: 4n } },
      { kind: 'acquired', lock: { fencingToken: 5n } },
      { kind: 'acquired', lock: { fencingToken: 6n }, reacquired: true },
      { kind: 'conflict', current: { owner: 'A', fencingToken: 6n } },
    ]);
  });

  test('before it arrived, is stored by another one, once, and nobody has waited', async () => {
    const { store, proxy, other, databaseUrl } = await openInStoppedTime();
    proxy.stall(HALF_WAY);
    const answer = answerTo(store, acquire('job', 'A'));
    await sleep(QUIET_MS);
    expect(await pidsOf(databaseUrl, HOLDS_THE_LOCK)).toEqual([]);
    proxy.cut();
    proxy.pass();
    expect((await answer).answer).toBe('acquired');
    expect(await acquisitionsOf(other)).toEqual(['mine A', 'theirs B', 'job A']);
  });

  test('before it arrived, leaves the log at a time that has come', async () => {
    const { store, proxy, databaseUrl } = await openWarmStore();
    proxy.stall(HALF_WAY);
    const answer = answerTo(store, acquire('job', 'A'));
    await sleep(SENT_MS);
    proxy.cut();
    proxy.pass();
    expect((await answer).answer).toBe('acquired');
    expect(await runSql(databaseUrl, LOG_TIME)).toEqual([{ hasCome: true }]);
  });

  test('before it arrived, when another one has taken the lock, is told so', async () => {
    const { store, proxy, other } = await openInStoppedTime();
    proxy.stall(HALF_WAY);
    const answer = answerTo(store, acquire('job', 'A'));
    await sleep(QUIET_MS);
    await other.commit([acquire('job', 'B')]);
    proxy.cut();
    proxy.pass();
    expect((await answer).answer).toBe('conflict');
    expect(await acquisitionsOf(other)).toEqual(['mine A', 'theirs B', 'job B']);
  });

  test('before it arrived, when another one has done the same for the same owner, is told its own outcome', async () => {
    const { store, proxy, other } = await openInStoppedTime();
    proxy.stall(HALF_WAY);
    const group = store.commit([acquire('job', 'A', { reacquire: false })]);
    await other.commit([acquire('job', 'A', { reacquire: false })]);
    proxy.cut();
    proxy.pass();
    expect((await group).outcomes).toMatchObject([{ kind: 'conflict', reason: 'HELD_BY_SELF' }]);
    expect(await acquisitionsOf(other)).toEqual(['mine A', 'theirs B', 'job A']);
  });

  test('before it arrived, when another one has recorded the same expiry, is not taken for stored', async () => {
    const { store, proxy, other, time } = await openInStoppedTime();
    await time.advance(LEASE_MS);
    proxy.stall(HALF_WAY);
    const group = store.commit([acquire('mine', 'A')]);
    await sleep(QUIET_MS);
    await other.commit([{ kind: 'expire', resource: 'mine' }, acquire('next', 'B')]);
    proxy.cut();
    proxy.pass();
    const { events } = await group;
    expect((await logOf(other)).slice(4)).toEqual(events);
    expect(events).toMatchObject([{ type: 'ACQUIRED', resource: 'mine', fencingToken: 5n }]);
  });

  test('before it arrived, and that is found out late, is told that it was not applied', async () => {
    const { store, proxy, other, time } = await openInStoppedTime();
    proxy.stall(HALF_WAY);
    const answer = answerTo(store, acquire('job', 'A'));
    await time.advance(FOUND_OUT_MS);
    proxy.cut();
    proxy.pass();
    expect((await answer).answer).toBe('unavailable, not applied');
    expect(await acquisitionsOf(other)).toEqual(['mine A', 'theirs B']);
    expect((await answerTo(store, acquire('job', 'A'))).answer).toBe('acquired');
  });

  test('and is gone from the log before it can be asked for, is told that this is unknown', async () => {
    await expectUnknownWhereForgotten(await storeUnheard());
  });

  test('before it arrived, in a log that was pruned meanwhile, is told that this is unknown, and never stored', async () => {
    const { store, proxy, other, databaseUrl } = await openInStoppedTime();
    proxy.stall(HALF_WAY);
    const answer = answerTo(store, acquire('job', 'A'));
    await sleep(QUIET_MS);
    await other.commit([acquire('next', 'B')]);
    await forget(databaseUrl);
    proxy.cut();
    proxy.pass();
    expect((await answer).answer).toBe('unavailable, perhaps applied');
    expect((await answerTo(other, acquire('job', 'B'))).answer).toBe('acquired');
  });

  test('and can not find out what became of it, is told within two seconds that this is unknown', async () => {
    await expectUnknownWhereOutOfReach(storeUnheard);
  });
});
