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

type Apis = readonly [LockApi, LockApi, LockApi];

/** One lock goes through all instances; another one is left to expire while all of them sweep. */
async function playRound([first, second, third]: Apis, round: number): Promise<void> {
  const passedOn = `passed-on:${round}`;
  await second.acquire(passedOn, 'A');
  await first.acquire(`left:${round}`, 'A', { ttlMs: SHORT_TTL_MS });
  await third.renew(passedOn, 'A');
  await first.release(passedOn, 'A');
}

test(
  'three instances on one database tell every watcher each event exactly once, in the same order, and one expiry for each lock',
  { timeout: timeLimit(60_000) },
  async () => {
    const env = { DATABASE_URL: await createDatabase() };
    const instances = await Promise.all(Array.from({ length: 3 }, () => startServerProcess(env)));
    const sessions = await Promise.all(instances.map(({ url }) => Session.open(url)));
    const watches = await Promise.all(sessions.map((session) => session.watch()));
    const apis = sessions.map(({ api }) => api) as unknown as Apis;
    for (let round = 0; round < ROUNDS; round++) await playRound(apis, round);

    const last = String(ROUNDS * EVENTS_PER_ROUND);
    for (const watch of watches) await watch.reach(last);
    // Whatever were told twice would come before the next change.
    const { revision = '' } = (await apis[0].acquire('end', 'A')).lock ?? {};
    for (const watch of watches) await watch.reach(revision);

    const log = await apis[0].events();
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
