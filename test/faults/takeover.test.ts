import { expect, test } from 'vitest';
import { startTestApps } from '../support/app.js';
import { ManualTime } from '../support/manual-time.js';
import { rounds, timeLimit } from '../support/rounds.js';
import { brief } from './log-checks.js';
import { lockOf, type LockApi } from './lock-api.js';
import { Session } from './session.js';

const ROUNDS = rounds(200);
const TAKERS_OF_A_SESSION = 25;

/** Two sessions: to one instance, or to one each of two. */
async function openSessions(instances: number, time: ManualTime): Promise<LockApi[]> {
  const apps = await startTestApps(instances, { time });
  const sessions = await Promise.all([apps[0], apps.at(-1)].map((app) => Session.open(app?.url ?? '')));
  return sessions.map(({ api }) => api);
}

/** Lets all takers go for the resource in the same moment; exactly one may get it. */
async function expectOneWinner(apis: readonly LockApi[], resource: string): Promise<string> {
  const takers = apis.flatMap((api, session) =>
    Array.from({ length: TAKERS_OF_A_SESSION }, (_, n) => ({ api, owner: `taker:${session}:${n}` })),
  );
  const answers = await Promise.all(takers.map(({ api, owner }) => api.acquire(resource, owner, { ttlMs: 60_000 })));
  const granted = answers.filter(({ __typename: typename }) => typename === 'LockAcquired');
  const refused = answers.filter(({ reason }) => reason === 'HELD_BY_ANOTHER');
  expect([granted.length, refused.length]).toEqual([1, takers.length - 1]);

  const winner = takers.findIndex((_, n) => answers[n] === granted[0]);
  const { owner, fencingToken } = lockOf(answers[winner] ?? { __typename: 'NotFound' });
  expect(owner).toBe(takers[winner]?.owner);
  expect(new Set(refused.map(({ current }) => current?.fencingToken))).toEqual(new Set([fencingToken]));
  return owner;
}

test.each([
  ['', 1],
  [' on two instances', 2],
])(
  'fifty owners that go for one expired lock at once%s: exactly one gets it, round after round',
  { timeout: timeLimit(60_000) },
  async (_, instances) => {
    const time = new ManualTime();
    const apis = await openSessions(instances, time);
    const [api] = apis as [LockApi];
    for (let round = 0; round < ROUNDS; round++) {
      const resource = `r/${round}`;
      await api.acquire(resource, 'A', { ttlMs: 200 });
      time.advance(400);
      const winner = await expectOneWinner(apis, resource);
      const log = await api.events({ resource });
      expect(log.map(brief)).toEqual([`ACQUIRED ${resource} A`, `EXPIRED ${resource} A`, `ACQUIRED ${resource} ${winner}`]);
    }
    const tokens = (await api.events({ types: ['ACQUIRED'] })).map(({ fencingToken }) => BigInt(fencingToken));
    expect(tokens).toHaveLength(2 * ROUNDS);
    for (const [index, token] of tokens.entries()) expect(token).toBeGreaterThan(tokens[index - 1] ?? 0n);
  },
);
