import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import type { Command } from '../../../src/locks/commands.js';
import { decideGroup } from '../../../src/locks/decide-group.js';
import type { Lock } from '../../../src/locks/lock.js';
import { RetryMemory } from '../../../src/locks/retries.js';
import { storeIfUnchanged } from '../../../src/store/postgresql/store-if-unchanged.js';
import { MAX_DELAY_MS } from '../../../src/store/postgresql/group-sql.js';
import type { GroupToStore } from '../../../src/store/postgresql/group-to-store.js';
import { findStored } from '../../../src/store/postgresql/lost-answers.js';
import { acquire, release, renew } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { withClient } from '../../support/postgresql/client.js';
import { runSql } from '../../support/sql.js';
import { logOf, openQuietStore } from './store.js';

/** Longer than a test takes. */
const MAX_AGE_MS = 60_000;
const LOCK_TIMEOUT_MS = 1_000;

interface Database {
  readonly url: string;
  /** Stores it as an instance would; whether it did. */
  readonly store: (group: GroupToStore) => Promise<boolean>;
  /** The revision of the first event, where the group is found. */
  readonly find: (group: GroupToStore) => Promise<bigint | null>;
}

/** With one lock, `held`. */
async function openDatabase(): Promise<Database & { readonly held: Lock }> {
  const url = await createDatabase();
  const store = await openQuietStore(url);
  const { outcomes } = await store.commit([acquire('held', 'A')]);
  const held = (outcomes[0] as { readonly lock: Lock }).lock;
  return {
    url,
    held,
    store: async (group) => {
      // What was asked for does not matter here, but the resources.
      const commands = group.decision.events.map(({ resource }): Command => ({ kind: 'expire', resource }));
      const [row] = await lastRows(
        url,
        storeIfUnchanged(group, { commands, acquisitions: [], rememberedSince: 0 }, MAX_AGE_MS, null),
      );
      return row?.['stored'] as boolean;
    },
    find: async (group) => {
      const [row] = await lastRows(url, findStored(group, LOCK_TIMEOUT_MS));
      return row === undefined ? null : BigInt(row['revision'] as string);
    },
  };
}

/** Of the last query in the message. */
function lastRows(url: string, message: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return withClient(url, async (client) => {
    const results = (await client.query(message)) as unknown as pg.QueryResult<Record<string, unknown>>[];
    return results.filter(({ command }) => command === 'SELECT').at(-1)!.rows;
  });
}

let nextGroupId = 1n;

/**
 * A group as an instance decides it that knows the database's clock, and these rows.
 *
 * @param at the time of the decision, in epoch milliseconds; left out: what the clock shows
 */
async function decide(url: string, commands: readonly Command[], locks: readonly Lock[] = [], at?: number): Promise<GroupToStore> {
  const [row] = await runSql(
    url,
    'SELECT log_id, revision, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS clock FROM lock_clock',
  );
  const { log_id: logId, revision, clock } = row as { log_id: string; revision: bigint; clock: bigint };
  const now = at ?? Number(clock);
  const rows = new Map(locks.map((lock) => [lock.resource, lock]));
  const state = { revision, now, rows, retries: new RetryMemory(), ticket: 0n, standing: null };
  return {
    ...state,
    decision: decideGroup(state, commands),
    logId,
    clock: Number(clock),
    isAnnounced: true,
    groupId: nextGroupId++,
  };
}

const GROUPS: Readonly<Record<string, readonly Command[]>> = {
  'an acquisition': [acquire('job', 'A', { requestId: 'r' })],
  'a renewal': [renew('held', 'A', { ttlMs: 90_000 })],
  'an acquisition of a held lock': [acquire('held', 'A')],
  'a lock that is free before it and after it': [acquire('job', 'A'), release('job', 'A')],
  'many locks': Array.from({ length: 1_000 }, (_, n) => acquire(`job:${n}`, 'A')),
};

describe.each(Object.entries(GROUPS))('a group whose message comes late: %s', (_, commands) => {
  test('stores nothing once it was looked for, and not found', async () => {
    const { url, held, store, find } = await openDatabase();
    const group = await decide(url, commands, [held]);
    expect(await find(group)).toBe(null);
    expect(await store(group)).toBe(false);
    expect(await logOf(await openQuietStore(url))).toHaveLength(1);
    // The next one is not held up.
    expect(await store(await decide(url, commands, [held], group.now + MAX_AGE_MS + 1))).toBe(true);
  });

  test('stores nothing a second time once it was found, also where others stored something in between', async () => {
    const { url, held, store, find } = await openDatabase();
    const group = await decide(url, commands, [held]);
    expect(await store(await decide(url, [acquire('before', 'B')], [], group.now))).toBe(true);
    expect(await store(group)).toBe(true);
    expect(await store(await decide(url, [acquire('after', 'B')]))).toBe(true);
    expect(await find(group)).toBe(3n);
    expect(await store(group)).toBe(false);
    expect(await logOf(await openQuietStore(url))).toHaveLength(3 + commands.length);
  });
});

test('a group is not taken for another one that did exactly the same', async () => {
  const { url, store, find } = await openDatabase();
  const group = await decide(url, [acquire('job', 'A')]);
  expect(await store(group)).toBe(true);
  expect(await find({ ...group, groupId: nextGroupId++ })).toBe(null);
  expect(await find(group)).toBe(2n);
});

test('a group is not stored by a clock that was set back since it was compared', async () => {
  const { url, store } = await openDatabase();
  const group = await decide(url, [acquire('job', 'A')]);
  expect(await store({ ...group, clock: group.clock + MAX_AGE_MS })).toBe(false);
  expect(await store(group)).toBe(true);
});

test('a group is not stored in another history than that which it was decided on, nor in one that has lost what it rests on', async () => {
  const { url, store } = await openDatabase();
  const group = await decide(url, [acquire('job', 'A')]);
  expect(await store({ ...group, logId: '0'.repeat(32) })).toBe(false);
  expect(await store({ ...group, revision: group.revision + 1n })).toBe(false);
  expect(await store(group)).toBe(true);
});

/** The newest change was stored at that time, as far as the log tells. */
async function bringLogTo(url: string, at: number): Promise<void> {
  await runSql(url, 'UPDATE lock_clock SET at = $1', [at]);
}

test('a group is stored at the time that the log has come to, but not where that is much later than its own', async () => {
  const { url, held, store } = await openDatabase();
  const group = await decide(url, [acquire('job', 'A', { ttlMs: 60_000 }), renew('held', 'A', { ttlMs: 90_000 })], [held]);
  await bringLogTo(url, group.now + MAX_DELAY_MS + 1);
  expect(await store(group)).toBe(false);
  await bringLogTo(url, group.now + MAX_DELAY_MS);
  expect(await store(group)).toBe(true);
  const [, acquired, renewed] = await logOf(await openQuietStore(url));
  expect([acquired!.at, acquired!.acquiredAt, renewed!.at]).toEqual(Array(3).fill(group.now + MAX_DELAY_MS));
  expect([acquired!.expiresAt - acquired!.at, renewed!.expiresAt - renewed!.at]).toEqual([60_000, 90_000]);
});

test('a group is not stored at a later time that would have changed what was decided', async () => {
  const { url, held, store } = await openDatabase();
  const short = await decide(url, [renew('held', 'A', { ttlMs: 10 })], [held]);
  const [{ now }, laterMs] = [short, MAX_DELAY_MS / 4];
  const expiring = await decide(url, [acquire('held', 'A')], [{ ...held, expiresAt: now + laterMs }], now);
  const elsewhere = await decide(url, [acquire('job', 'A')], [], now);
  await bringLogTo(url, now + laterMs);
  expect(await store(short)).toBe(false);
  expect(await store(expiring)).toBe(false);
  expect(await store(elsewhere)).toBe(true);
});
