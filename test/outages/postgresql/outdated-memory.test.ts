import { describe, expect, test } from 'vitest';
import type { Command } from '../../../src/locks/commands.js';
import type { LockStore } from '../../../src/store/lock-store.js';
import { beginNewHistory } from '../../../src/store/postgresql/new-history.js';
import { acquire, release, renew } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { runSql } from '../../support/sql.js';
import { stopTime, type StoppedTime } from './stopped-time.js';
import { forbidToAsk, logOf, openTwoStores } from './store.js';

const LEASE_MS = 40;

/** Two instances on one database, both of which know enough to store a group with one message; for them time stands still. */
async function openBoth() {
  const databaseUrl = await createDatabase();
  const time = await stopTime(databaseUrl);
  return { databaseUrl, time, ...(await openTwoStores(databaseUrl)) };
}

/**
 * The next groups of the store, so many of them, take two messages, the first of which asks; then it is as before. It is
 * brought to that by names that it takes for free, and another one holds. Nothing of this is under way afterwards.
 */
async function makeAskFirst(store: LockStore, other: LockStore, groups: 1 | 3 = 1): Promise<void> {
  for (let asking = 0; asking < groups; asking = 2 * asking + 1) {
    const taken = acquire(`taken:${(await other.head()).revision}`, 'A');
    // One that asks can not be wrong.
    for (let n = 0; n < asking; n++) await store.commit([{ ...taken, resource: `${taken.resource}:${n}` }]);
    await other.commit([taken]);
    const { outcomes } = await store.commit([taken]);
    expect(outcomes).toMatchObject([{ kind: 'acquired', reacquired: true }]);
  }
}

/** Other locks than those that the first instance deals with. */
async function changeOthers(other: LockStore): Promise<void> {
  await other.commit([acquire('1', 'B'), acquire('2', 'B')]);
  await other.commit([release('1', 'B'), renew('2', 'B'), renew('theirs', 'A')]);
}

/** The rows of these locks that are held are what the last events of the log leave. */
async function expectRowsToFollowFromLog(store: LockStore): Promise<void> {
  const last = new Map((await logOf(store)).map((event) => [event.resource, event]));
  const held = [...last.values()].filter(({ type }) => type === 'ACQUIRED' || type === 'RENEWED');
  const rows = await store.readLocks({ resource: null, prefix: null, owner: null }, null, 100, await store.now());
  const brief = ({
    resource,
    owner,
    fencingToken,
    revision,
    expiresAt,
  }: Pick<(typeof rows)[number], 'resource' | 'owner' | 'fencingToken' | 'revision' | 'expiresAt'>) =>
    `${resource} ${owner} ${fencingToken} ${revision} ${expiresAt}`;
  expect(rows.map(brief).sort()).toEqual(held.map(brief).sort());
}

describe('while another instance changes other locks, a group takes one message', () => {
  /** Its answer and its events, which are those of the log. */
  async function commitAtOnce(
    commands: readonly Command[],
    prepare: (store: LockStore, time: StoppedTime) => Promise<unknown> = async () => undefined,
  ) {
    const { databaseUrl, time, store, other } = await openBoth();
    await prepare(store, time);
    await changeOthers(other);
    const before = (await logOf(other)).length;
    const allow = await forbidToAsk(databaseUrl);
    const { outcomes, events } = await store.commit(commands);
    await allow();
    expect((await logOf(other)).slice(before)).toEqual(events);
    await expectRowsToFollowFromLog(other);
    const brief = events.map(
      ({ type, resource, revision, fencingToken }) => `${type} ${resource} ${revision - BigInt(before)} ${fencingToken}`,
    );
    return { outcomes, brief, before: BigInt(before), store, other };
  }

  test('with tokens that follow the newest revision, also where commands meet on one lock', async () => {
    const { outcomes, brief, before } = await commitAtOnce([
      acquire('job', 'A', { requestId: 'r' }),
      renew('mine', 'A', { ttlMs: 90_000 }),
      acquire('job', 'A', { requestId: 'r' }),
      acquire('job', 'B'),
      release('mine', 'A'),
      acquire('mine', 'B'),
      renew('mine', 'B'),
      release('mine', 'B'),
      acquire('mine', 'C'),
      acquire('job', 'A'),
    ]);
    expect(outcomes).toMatchObject([
      { kind: 'acquired', lock: { fencingToken: before + 1n, revision: before + 1n } },
      { kind: 'renewed', lock: { fencingToken: 1n, revision: before + 2n } },
      { kind: 'acquired', lock: { fencingToken: before + 1n, revision: before + 1n } },
      { kind: 'conflict', current: { fencingToken: before + 1n } },
      { kind: 'released', fencingToken: 1n, revision: before + 3n },
      { kind: 'acquired', lock: { fencingToken: before + 4n } },
      { kind: 'renewed', lock: { fencingToken: before + 4n, revision: before + 5n } },
      { kind: 'released', fencingToken: before + 4n, revision: before + 6n },
      { kind: 'acquired', lock: { fencingToken: before + 7n } },
      { kind: 'acquired', lock: { fencingToken: before + 8n }, reacquired: true },
    ]);
    expect(brief).toEqual([
      `ACQUIRED job 1 ${before + 1n}`,
      'RENEWED mine 2 1',
      'RELEASED mine 3 1',
      `ACQUIRED mine 4 ${before + 4n}`,
      `RENEWED mine 5 ${before + 4n}`,
      `RELEASED mine 6 ${before + 4n}`,
      `ACQUIRED mine 7 ${before + 7n}`,
      `ACQUIRED job 8 ${before + 8n}`,
    ]);
  });

  test('with the tokens of the locks that it remembers', async () => {
    const { outcomes, brief, before } = await commitAtOnce([
      renew('mine', 'A', { fencingToken: 1n }),
      renew('mine', 'A', { fencingToken: 0n }),
      release('mine', 'A', 1n),
      acquire('mine', 'B'),
    ]);
    expect(outcomes).toMatchObject([
      { kind: 'renewed', lock: { fencingToken: 1n, revision: before + 1n } },
      { kind: 'conflict', reason: 'STALE_TOKEN', current: { fencingToken: 1n } },
      { kind: 'released', fencingToken: 1n, revision: before + 2n },
      { kind: 'acquired', lock: { fencingToken: before + 3n } },
    ]);
    expect(brief).toEqual(['RENEWED mine 1 1', 'RELEASED mine 2 1', `ACQUIRED mine 3 ${before + 3n}`]);
  });

  test('and records what has expired meanwhile', async () => {
    const short = acquire('short', 'A', { ttlMs: LEASE_MS });
    const prepare = async (store: LockStore, time: StoppedTime) => {
      await store.commit([short, { ...short, resource: 'left' }]);
      await time.advance(LEASE_MS);
    };
    const { outcomes, brief, before } = await commitAtOnce([acquire('short', 'B'), renew('left', 'A')], prepare);
    expect(outcomes).toMatchObject([
      { kind: 'acquired', lock: { owner: 'B', fencingToken: before + 3n }, reacquired: false },
      { kind: 'conflict', reason: 'EXPIRED' },
    ]);
    expect(brief).toEqual(['EXPIRED short 1 3', 'EXPIRED left 2 4', `ACQUIRED short 3 ${before + 3n}`]);
  });

  test('which the next one can be decided on', async () => {
    const { store, other, before } = await commitAtOnce([acquire('job', 'A')]);
    await changeOthers(other);
    const { outcomes } = await store.commit([renew('job', 'A', { fencingToken: before + 1n })]);
    expect(outcomes).toMatchObject([{ kind: 'renewed', lock: { fencingToken: before + 1n } }]);
  });
});

describe('what another instance did to the same lock is found', () => {
  test.each<[string, Command, Command, object]>([
    ['an acquisition by another owner', acquire('job', 'B'), acquire('job', 'A'), { kind: 'conflict', reason: 'HELD_BY_ANOTHER' }],
    ['an acquisition by the same owner', acquire('job', 'A'), acquire('job', 'A'), { kind: 'acquired', reacquired: true }],
    ['a release', release('mine', 'A'), renew('mine', 'A'), { kind: 'not-found' }],
    [
      'a release that is repeated',
      release('mine', 'A', 1n),
      release('mine', 'A', 1n),
      { kind: 'released', fencingToken: 1n, revision: 3n },
    ],
    [
      'a renewal',
      renew('mine', 'A', { ttlMs: 80_000 }),
      renew('mine', 'A'),
      { kind: 'renewed', lock: { fencingToken: 1n, revision: 4n } },
    ],
    [
      'another acquisition',
      acquire('mine', 'A'),
      release('mine', 'A', 1n),
      { kind: 'conflict', reason: 'STALE_TOKEN', current: { fencingToken: 3n } },
    ],
    [
      'an acquisition of that request',
      acquire('job', 'A', { requestId: 'r' }),
      acquire('job', 'A', { requestId: 'r' }),
      { kind: 'acquired', lock: { fencingToken: 3n }, reacquired: false },
    ],
    [
      'an acquisition of that request by another owner, as none',
      acquire('job', 'B', { requestId: 'r' }),
      acquire('job', 'A', { requestId: 'r' }),
      { kind: 'conflict', reason: 'HELD_BY_ANOTHER' },
    ],
  ])('%s', async (_, theirs, own, expected) => {
    const { store, other } = await openBoth();
    await other.commit([theirs]);
    const { outcomes, events } = await store.commit([own]);
    expect(outcomes).toMatchObject([expected]);
    expect((await logOf(other)).slice(3)).toEqual(events);
    await expectRowsToFollowFromLog(other);
  });

  test('an acquisition of that request that is over, whatever else is in the group', async () => {
    const { store, other } = await openBoth();
    await other.commit([acquire('job', 'A', { requestId: 'r' }), release('job', 'A')]);
    // All that this instance could tell it by is the request.
    await store.commit([acquire('two', 'A')]);
    const { outcomes } = await store.commit([acquire('two', 'A'), acquire('job', 'A', { requestId: 'r' }), acquire('job', 'A')]);
    expect(outcomes).toMatchObject([
      { kind: 'acquired', lock: { fencingToken: 6n } },
      { kind: 'conflict', reason: 'REQUEST_SPENT', current: null },
      { kind: 'acquired', lock: { fencingToken: 7n } },
    ]);
  });
});

test('a group that is decided on an ended history is decided anew in the one that has begun', async () => {
  const { databaseUrl, store, other } = await openBoth();
  const { logId, revision } = await beginNewHistory(databaseUrl);
  const first = await store.commit([acquire('job', 'A'), renew('mine', 'A')]);
  expect(first).toMatchObject({
    logId,
    outcomes: [{ lock: { fencingToken: revision + 1n } }, { lock: { fencingToken: 1n, revision: revision + 2n } }],
  });
  const second = await other.commit([acquire('next', 'A')]);
  expect(second).toMatchObject({ logId, outcomes: [{ lock: { fencingToken: revision + 3n } }] });
});

test('where the database lost its newest changes, and a new history has begun, nothing is taken for true that was lost', async () => {
  const { databaseUrl, store } = await openBoth();
  await store.commit([acquire('lost', 'A')]);
  await runSql(databaseUrl, "DELETE FROM distributed_locks WHERE resource = 'lost'");
  await runSql(databaseUrl, 'DELETE FROM lock_events WHERE revision = 3');
  await runSql(databaseUrl, 'UPDATE lock_clock SET revision = 2');
  const { revision } = await beginNewHistory(databaseUrl);
  expect((await store.commit([renew('lost', 'A')])).outcomes).toMatchObject([{ kind: 'not-found' }]);
  expect((await store.commit([acquire('lost', 'B')])).outcomes).toMatchObject([{ lock: { fencingToken: revision + 1n } }]);
});

test('after it was wrong, an instance asks first, more often each time, until it was right', async () => {
  const { databaseUrl, store, other } = await openBoth();
  const expectAsking = async (groups: number): Promise<void> => {
    for (let n = 0; n < groups; n++) {
      const allow = await forbidToAsk(databaseUrl);
      await expect(store.commit([renew('mine', 'A')])).rejects.toThrow('holdfast_take_lock');
      await allow();
    }
    const allow = await forbidToAsk(databaseUrl);
    expect((await store.commit([renew('mine', 'A')])).outcomes).toMatchObject([{ kind: 'renewed' }]);
    await allow();
  };
  await expectAsking(0);
  await makeAskFirst(store, other);
  await expectAsking(1);
  await makeAskFirst(store, other, 3);
  await expectAsking(3);
});

test('a group that names a token which is yet to be given is decided with the one that is given', async () => {
  const { store, other } = await openBoth();
  await changeOthers(other);
  const before = BigInt((await logOf(other)).length);
  const given = before + 1n;
  const { outcomes, events } = await store.commit([acquire('mine', 'A'), renew('mine', 'A', { fencingToken: given })]);
  expect(outcomes).toMatchObject([
    { kind: 'acquired', lock: { fencingToken: given } },
    { kind: 'renewed', lock: { fencingToken: given, revision: given + 1n } },
  ]);
  expect((await logOf(other)).slice(Number(before))).toEqual(events);
});
