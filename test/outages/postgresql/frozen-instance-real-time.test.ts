import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { acquire } from '../../support/commands.js';
import type { Stall } from '../../support/tcp-proxy.js';
import { answerTo } from './answers.js';
import { firstMessageBytes, secondMessageBytes } from './messages.js';
import { HOLDS_THE_LOCK, untilThereIs, WAITS_FOR_THE_LOCK } from './sessions.js';
import { acquisitionsOf, ASKING, openQuietStore, openStoreBehindProxy } from './store.js';

/** How long one instance may keep the others waiting. */
const PATIENCE_MS = 5_000;
/** Long enough for all that was sent to be where it can get. */
const QUIET_MS = 150;

/** To an instance that lost the lock to another one: it may try again by itself, or leave that to its callers. */
const TRUE_ANSWERS = ['conflict', 'unavailable, not applied'];

const GROUP = [acquire('job', 'frozen'), ASKING];
const FIRST_MESSAGE = firstMessageBytes(...GROUP);
const SECOND_MESSAGE = secondMessageBytes(...GROUP);

/** Moments at which a transaction of two messages stops, each while it has the lock or is about to. */
const MOMENTS: Readonly<Record<string, Stall>> = {
  'in the first message': { direction: 'toServer', afterBytes: FIRST_MESSAGE - 50 },
  'in the answer to the first message': { direction: 'toClient', afterBytes: 50 },
  'between the two messages': { direction: 'toServer', afterBytes: FIRST_MESSAGE },
  'in the second message': { direction: 'toServer', afterBytes: FIRST_MESSAGE + 100 },
  'just before the second message is complete': { direction: 'toServer', afterBytes: FIRST_MESSAGE + SECOND_MESSAGE - 20 },
};

/** An instance whose way to the database freezes, and another one on the same database. */
async function openBoth() {
  const { store: frozen, proxy, databaseUrl } = await openStoreBehindProxy();
  const other = await openQuietStore(databaseUrl);
  // From here on the connections are open, two of one that freezes, and carry nothing else than groups.
  await Promise.all([acquire('1', 'frozen'), acquire('2', 'frozen')].map((command) => answerTo(frozen, command)));
  await answerTo(other, acquire('3', 'other'));
  const ownersOf = async (resource: string) =>
    (await acquisitionsOf(other)).filter((acquisition) => acquisition.startsWith(`${resource} `));
  return { frozen, proxy, other, databaseUrl, ownersOf };
}

describe('an instance that freezes for a moment while it has the lock', () => {
  test('keeps the others waiting for a moment, and is told what they did when it wakes up', async () => {
    const effects = Object.entries(MOMENTS).map(async ([moment, stall]) => {
      const { frozen, proxy, other, ownersOf } = await openBoth();
      proxy.stall(stall);
      const own = answerTo(frozen, ...GROUP);
      await sleep(QUIET_MS);
      const theirs = await answerTo(other, acquire('job', 'other'));
      proxy.pass();
      const { answer } = await own;
      const next = await answerTo(frozen, acquire('next', 'frozen'));
      return { moment, theirs, answer, next, owners: await ownersOf('job') };
    });
    for (const { moment, theirs, answer, next, owners } of await Promise.all(effects)) {
      expect([theirs.answer, next.answer, owners], moment).toEqual(['acquired', 'acquired', ['job other']]);
      expect(theirs.afterMs, moment).toBeLessThan(PATIENCE_MS);
      expect(TRUE_ANSWERS, moment).toContain(answer);
    }
  });

  test('and waits for it with a second group, keeps the others waiting for both, and has applied neither', async () => {
    const { frozen, proxy, other, databaseUrl, ownersOf } = await openBoth();
    proxy.stall({ direction: 'toServer', afterBytes: FIRST_MESSAGE });
    const own = ['job', 'two'].map((resource) => answerTo(frozen, acquire(resource, 'frozen'), ASKING));
    await untilThereIs(databaseUrl, HOLDS_THE_LOCK);
    await untilThereIs(databaseUrl, WAITS_FOR_THE_LOCK);
    const theirs = await answerTo(other, acquire('job', 'other'));
    expect(theirs.answer).toBe('acquired');
    expect(theirs.afterMs).toBeLessThan(PATIENCE_MS);
    proxy.pass();
    expect((await Promise.all(own)).map(({ answer }) => answer)).toEqual(Array(2).fill('unavailable, not applied'));
    expect((await answerTo(frozen, acquire('two', 'frozen'))).answer).toBe('acquired');
    expect([await ownersOf('job'), await ownersOf('two')]).toEqual([['job other'], ['two frozen']]);
  });

  test('and takes no more of a long answer, keeps the others waiting for a moment', async () => {
    const { frozen, proxy, other } = await openBoth();
    const metadata = JSON.stringify('m'.repeat(4_000));
    const many = (owner: string) => Array.from({ length: 1_000 }, (_, n) => acquire(`long:${n}`, owner, { metadata }));
    await other.commit(many('other'));
    proxy.stall({ direction: 'toClient' });
    const own = answerTo(frozen, ...many('frozen'), ASKING);
    await sleep(QUIET_MS);
    const theirs = await answerTo(other, acquire('job', 'other'));
    expect(theirs.answer).toBe('acquired');
    expect(theirs.afterMs).toBeLessThan(PATIENCE_MS);
    proxy.pass();
    expect(TRUE_ANSWERS).toContain((await own).answer);
  });
});
