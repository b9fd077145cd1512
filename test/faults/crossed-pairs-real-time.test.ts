import { expect, test } from 'vitest';
import { startTestApps } from '../support/app.js';
import { rounds, timeLimit } from '../support/rounds.js';
import type { LockApi } from './lock-api.js';
import { expectOneHistory } from './log-checks.js';
import { Session } from './session.js';

const ROUNDS = rounds(1_000, 200);
const WAIT_MS = 30_000;
const SHARE = { least: 0.35, most: 0.65 };

/** Takes both and lets go of both, for as long as there are rounds; resolves to how many it had. */
async function takeTurns(api: LockApi, owner: string, resources: readonly string[], hasNext: () => boolean): Promise<number> {
  let turns = 0;
  while (hasNext()) {
    const answer = await api.acquireAll({ resources, owner, ttlMs: 60_000, waitMs: WAIT_MS });
    expect(answer.__typename).toBe('LocksAcquired');
    turns++;
    await api.releaseAll({ owner });
  }
  return turns;
}

test(
  'two sides on two instances that want the same two locks, each in its own order, take turns, and neither ever has only one of them',
  { timeout: timeLimit(60_000) },
  async () => {
    const apps = await startTestApps(2);
    const [first, second] = await Promise.all(apps.map(async ({ url }) => (await Session.open(url)).api));
    let left = ROUNDS;
    const hasNext = () => left-- > 0;
    const turns = await Promise.all([takeTurns(first!, 'A', ['a', 'b'], hasNext), takeTurns(second!, 'B', ['b', 'a'], hasNext)]);

    for (const own of turns) {
      expect(own).toBeGreaterThanOrEqual(SHARE.least * ROUNDS);
      expect(own).toBeLessThanOrEqual(SHARE.most * ROUNDS);
    }
    const log = await first!.events();
    expectOneHistory(log);
    const grants = log.flatMap(({ type, owner, resource }, place) => (type === 'ACQUIRED' ? [{ owner, resource, place }] : []));
    expect(grants).toHaveLength(2 * ROUNDS);
    const divided = grants.filter(({ owner, resource, place }, index) => {
      const other = grants[index % 2 === 0 ? index + 1 : index - 1];
      return other?.owner !== owner || other.resource === resource || Math.abs(other.place - place) !== 1;
    });
    expect(divided).toEqual([]);
  },
);
