import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { acquire } from '../../support/commands.js';
import { isSoak, timeLimit } from '../../support/rounds.js';
import { answerTo } from './answers.js';
import { firstMessageBytes } from './messages.js';
import { HOLDS_THE_LOCK, untilThereIs } from './sessions.js';
import { acquisitionsOf, ASKING, openQuietStore, openStoreBehindProxy } from './store.js';
import { expectUnknownWhereForgotten, expectUnknownWhereOutOfReach, FOUND_OUT_MS } from './unheard.js';

/** Long enough for all that was sent to be where it can get. */
const QUIET_MS = 100;

/** Between two cuts, at the most: a few groups, and the time to connect again. */
const CUT_PAUSE_MS = 100;

const CUTTING_MS = isSoak ? 300_000 : 3_000;

const GROUP = [acquire('job', 'A'), ASKING];

/** A group of two messages that is decided, and whose second message, which stores and commits it, has not left yet. */
async function decideGroup() {
  const { store, proxy, databaseUrl } = await openStoreBehindProxy();
  const observer = await openQuietStore(databaseUrl);
  await answerTo(store, acquire('before', 'A'));
  proxy.stall({ direction: 'toServer', afterBytes: firstMessageBytes(...GROUP) });
  const answer = answerTo(store, ...GROUP);
  await untilThereIs(databaseUrl, HOLDS_THE_LOCK);
  await sleep(QUIET_MS);
  return { store, proxy, observer, databaseUrl, answer };
}

/** The same when it was stored. */
async function storeUnheard() {
  const decided = await decideGroup();
  decided.proxy.stall({ direction: 'toClient' });
  await expect.poll(() => acquisitionsOf(decided.observer)).toEqual(['before A', 'job A']);
  return decided;
}

describe('a group of two messages whose connection breaks', () => {
  test('after its COMMIT arrived and before the answer came, is told the true outcome', async () => {
    const { store, proxy, observer, answer } = await storeUnheard();
    proxy.cut();
    proxy.pass();
    const cutAt = performance.now();
    expect((await answer).answer).toBe('acquired');
    expect(performance.now() - cutAt).toBeLessThan(FOUND_OUT_MS);
    expect((await answerTo(store, acquire('next', 'A'))).answer).toBe('acquired');
    expect(await acquisitionsOf(observer)).toEqual(['before A', 'job A', 'next A']);
  });

  test('before its COMMIT arrived, is stored by another one, once', async () => {
    const { proxy, observer, answer } = await decideGroup();
    proxy.cut();
    proxy.pass();
    expect((await answer).answer).toBe('acquired');
    expect(await acquisitionsOf(observer)).toEqual(['before A', 'job A']);
  });

  test('before its COMMIT arrived, and that is found out late, is told that it was not applied', async () => {
    const { store, proxy, observer, answer } = await decideGroup();
    // The answer to the second message would come: the instance waits for it as long as it may.
    proxy.stall();
    await sleep(FOUND_OUT_MS);
    proxy.cut();
    proxy.pass();
    expect((await answer).answer).toBe('unavailable, not applied');
    expect(await acquisitionsOf(observer)).toEqual(['before A']);
    expect((await answerTo(store, acquire('job', 'A'))).answer).toBe('acquired');
  });

  test('and is gone from the log before it can be asked for, is told that this is unknown', async () => {
    await expectUnknownWhereForgotten(await storeUnheard());
  });

  test('and can not find out what became of it, is told within two seconds that this is unknown', async () => {
    await expectUnknownWhereOutOfReach(storeUnheard);
  });
});

test(
  'groups whose connections are cut at any moment are each stored once or not at all, as they were told',
  { timeout: timeLimit(60_000) },
  async () => {
    const { store, proxy, databaseUrl } = await openStoreBehindProxy();
    const observer = await openQuietStore(databaseUrl);
    const endsAt = performance.now() + CUTTING_MS;
    const told = new Map<string, string>();
    const isEnough = () => performance.now() >= endsAt && [...told.values()].filter((answer) => answer === 'acquired').length > 20;
    const work = async (worker: number): Promise<void> => {
      for (let n = 0; !isEnough(); n++) {
        const resource = `${worker}:${n}`;
        told.set(`${resource} A`, (await answerTo(store, acquire(resource, 'A'))).answer);
      }
    };
    const cut = async (): Promise<void> => {
      while (!isEnough()) {
        await sleep(Math.random() * CUT_PAUSE_MS);
        proxy.cut();
      }
    };
    await Promise.all([work(1), work(2), cut()]);
    const acquisitions = await acquisitionsOf(observer);
    const stored = new Set(acquisitions);
    expect(acquisitions).toHaveLength(stored.size);
    for (const [acquisition, answer] of told) {
      if (answer !== 'unavailable, perhaps applied') expect(stored.has(acquisition), acquisition).toBe(answer === 'acquired');
    }
  },
);
