import { expect, test } from 'vitest';
import { createDatabase } from '../support/database.js';
import { rounds, timeLimit } from '../support/rounds.js';
import { startServerProcess } from '../support/server-process.js';
import { expectOneHistory } from './log-checks.js';
import type { LockApi } from './lock-api.js';
import { Session } from './session.js';

const SHORT_TTL_MS = 1_000;
const ROUNDS = rounds(200);
const EVENTS_PER_ROUND = 5;

/** One lock goes through both instances; another one is left to expire while both of them sweep. */
async function playRound(one: LockApi, other: LockApi, round: number): Promise<void> {
  const passedOn = `passed-on:${round}`;
  await other.acquire(passedOn, 'A');
  await one.acquire(`left:${round}`, 'A', { ttlMs: SHORT_TTL_MS });
  await one.renew(passedOn, 'A');
  await other.release(passedOn, 'A');
}

test(
  'two instances on one database tell every watcher each event exactly once, in the same order, and one expiry for each lock',
  { timeout: timeLimit(40_000) },
  async () => {
    const env = { DATABASE_URL: await createDatabase() };
    const first = await startServerProcess(env);
    const second = await startServerProcess(env);
    const sessions = await Promise.all([first, second].map(({ url }) => Session.open(url)));
    const watches = await Promise.all(sessions.map((session) => session.watch()));
    const [one, other] = sessions.map(({ api }) => api) as [LockApi, LockApi];
    for (let round = 0; round < ROUNDS; round++) await playRound(one, other, round);

    const last = String(ROUNDS * EVENTS_PER_ROUND);
    for (const watch of watches) await watch.reach(last);
    // Whatever were told twice would come before the next change.
    const { revision = '' } = (await one.acquire('end', 'A')).lock ?? {};
    for (const watch of watches) await watch.reach(revision);

    const log = await one.events();
    expectOneHistory(log);
    expect(log).toHaveLength(ROUNDS * EVENTS_PER_ROUND + 1);
    for (const watch of watches) {
      expect(watch.events.map(({ revision, type, resource }) => [revision, type, resource])).toEqual(
        log.map(({ revision, type, resource }) => [revision, type, resource]),
      );
    }
    const expired = log.filter(({ type }) => type === 'EXPIRED').map(({ resource }) => resource);
    expect(expired.sort()).toEqual(Array.from({ length: ROUNDS }, (_, n) => `left:${n}`).sort());
  },
);
