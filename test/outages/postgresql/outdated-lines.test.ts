import { describe, expect, test } from 'vitest';
import type { Command } from '../../../src/locks/commands.js';
import { INSTANCE_LEASE_MS } from '../../../src/store/instance-lease.js';
import type { LockStore } from '../../../src/store/lock-store.js';
import { brief, join, leave, wait, waitForAll, type Waiting } from '../../contract/lines.js';
import { acquire, release, renew } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { runSql } from '../../support/sql.js';
import { stopTime } from './stopped-time.js';
import { forbidToAsk, logOf, openTwoStores } from './store.js';

const ON_OTHER: Waiting = { instance: 'two' };

/**
 * Two instances on one database, for which time stands still. A holds `mine`, as the first one knows, and these wait for it, one after
 * the other; it has asked who they are.
 */
async function openLine(...waiting: readonly string[]) {
  const databaseUrl = await createDatabase();
  const time = await stopTime(databaseUrl);
  const { store, other } = await openTwoStores(databaseUrl);
  for (const owner of waiting) await join(other, wait('mine', owner, ON_OTHER));
  await store.commit([{ kind: 'expire', resource: 'mine' }]);
  return { databaseUrl, time, store, other };
}

/** What came of the group, which takes one message. */
async function commitAtOnce(databaseUrl: string, store: LockStore, ...commands: readonly Command[]) {
  const allow = await forbidToAsk(databaseUrl);
  try {
    const { outcomes, events } = await store.commit(commands);
    return { outcomes, events, brief: events.map(brief) };
  } finally {
    await allow();
  }
}

/** The tickets in line, by waiter. */
async function lineOf(databaseUrl: string): Promise<string[]> {
  const rows = await runSql(databaseUrl, 'SELECT waiter_id, ticket FROM lock_waiters ORDER BY ticket');
  expect(await runSql(databaseUrl, 'SELECT waiting FROM lock_tickets')).toEqual([{ waiting: BigInt(rows.length) }]);
  return rows.map(({ waiter_id: id, ticket }) => `${id as string} ${ticket as bigint}`);
}

describe('one message is enough', () => {
  test('to stand in line, while others come and the lock goes to another one', async () => {
    const { databaseUrl, store, other, time } = await openLine('B');
    await join(other, wait('theirs', 'X', ON_OTHER));
    await other.commit([release('mine', 'A'), acquire('free', 'Y')]);
    await time.advance(50);
    await other.commit([renew('free', 'Y')]);
    const { outcomes } = await commitAtOnce(databaseUrl, store, wait('mine', 'C', { waitMs: 700 }), wait('mine', 'D'));
    expect(outcomes).toMatchObject([
      { kind: 'queued', ticket: 3n, replaced: null },
      { kind: 'queued', ticket: 4n },
    ]);
    expect(await lineOf(databaseUrl)).toEqual(['X 2', 'C 3', 'D 4']);
    const [row] = await runSql(databaseUrl, "SELECT deadline, joined_at, at FROM lock_waiters, lock_clock WHERE waiter_id = 'C'");
    expect(row).toMatchObject({
      joined_at: row?.['at'],
      deadline: BigInt((outcomes[0] as { readonly deadline: number }).deadline),
    });
    expect((row?.['deadline'] as bigint) - (row?.['joined_at'] as bigint)).toBe(700n);
  });

  test('to wait for as long as it takes', async () => {
    const { databaseUrl, store, other, time } = await openLine('B');
    await time.advance(50);
    await other.commit([acquire('free', 'Y')]);
    await commitAtOnce(databaseUrl, store, wait('mine', 'C', { waitMs: null }));
    const { outcomes } = await store.commit([wait('mine', 'C', { waitMs: null })]);
    expect(outcomes).toMatchObject([{ kind: 'queued', ticket: 2n, deadline: 8_640_000_000_000_000 }]);
  });

  test('to hand the lock on, however many others have joined elsewhere', async () => {
    const { databaseUrl, store, other } = await openLine('B', 'C');
    await join(other, wait('theirs', 'X', ON_OTHER));
    await join(other, wait('mine', 'D', ON_OTHER));
    await other.commit([acquire('free', 'Y')]);
    const handed = await commitAtOnce(databaseUrl, store, release('mine', 'A'));
    expect(handed.brief).toEqual(['RELEASED mine A', 'ACQUIRED mine B for B']);
    expect(handed.events).toMatchObject([{ revision: 4n }, { revision: 5n, fencingToken: 5n }]);
    expect((await logOf(other)).slice(3)).toEqual(handed.events);
    expect(await lineOf(databaseUrl)).toEqual(['C 2', 'X 3', 'D 4']);
    expect((await commitAtOnce(databaseUrl, store, release('mine', 'B', 5n))).brief).toEqual([
      'RELEASED mine B',
      'ACQUIRED mine C for C',
    ]);
  });

  test('to hand on what another instance handed over, as the log told', async () => {
    const { databaseUrl, store, other } = await openLine('B', 'C', 'D');
    await other.commit([release('mine', 'A')]);
    await other.commit([release('mine', 'B')]);
    await logOf(store);
    const { brief: handed, events } = await commitAtOnce(databaseUrl, store, release('mine', 'C'));
    expect(handed).toEqual(['RELEASED mine C', 'ACQUIRED mine D for D']);
    expect((await logOf(other)).slice(6)).toEqual(events);
    const [row] = await runSql(databaseUrl, "SELECT ttl_ms, fencing_token FROM distributed_locks WHERE resource = 'mine'");
    expect(row).toEqual({ ttl_ms: 30_000n, fencing_token: 8n });
  });

  test('for one that holds it to renew it, and for another one to be the next', async () => {
    const { databaseUrl, store } = await openLine('B');
    const { outcomes, brief: handed } = await commitAtOnce(
      databaseUrl,
      store,
      renew('mine', 'A'),
      release('mine', 'A'),
      wait('mine', 'A'),
      acquire('free', 'A'),
    );
    expect(outcomes).toMatchObject([
      { kind: 'renewed' },
      { kind: 'released' },
      { kind: 'queued', ticket: 2n },
      { kind: 'acquired' },
    ]);
    expect(handed).toEqual(['RENEWED mine A', 'RELEASED mine A', 'ACQUIRED mine B for B', 'ACQUIRED free A']);
    expect(await lineOf(databaseUrl)).toEqual(['A 2']);
  });
});

describe('what became of a line elsewhere is found', () => {
  test('that the first one has left', async () => {
    const { store, other } = await openLine('B', 'C');
    await other.commit([leave('B', 1n, 'mine')]);
    expect((await store.commit([release('mine', 'A')])).events.map(brief)).toEqual(['RELEASED mine A', 'ACQUIRED mine C for C']);
  });

  test('that another call has taken over the first place', async () => {
    const { store, other } = await openLine();
    await join(other, wait('mine', 'B', { requestId: 'r' }));
    await store.commit([{ kind: 'expire', resource: 'mine' }]);
    await join(other, wait('mine', 'B', { requestId: 'r', id: 'again', ttlMs: 70_000 }));
    const { events } = await store.commit([release('mine', 'A')]);
    expect(events.map(brief)).toEqual(['RELEASED mine A', 'ACQUIRED mine B for again']);
    expect((events[1]?.expiresAt ?? 0) - (events[1]?.acquiredAt ?? 0)).toBe(70_000);
  });

  test('that nobody is there any more', async () => {
    const { store, other } = await openLine('B');
    await other.commit([leave('B', 1n, 'mine')]);
    expect((await store.commit([release('mine', 'A')])).events.map(brief)).toEqual(['RELEASED mine A']);
  });

  test('that somebody has come where nobody was', async () => {
    const { databaseUrl, store, other } = await openLine();
    await join(other, wait('mine', 'B', ON_OTHER));
    expect((await store.commit([release('mine', 'A')])).events.map(brief)).toEqual(['RELEASED mine A', 'ACQUIRED mine B for B']);
    expect(await lineOf(databaseUrl)).toEqual([]);
  });

  test('that the instance of the first one has ended', async () => {
    const { store, other, time } = await openLine('B');
    await time.advance(INSTANCE_LEASE_MS - 1);
    await join(store, wait('mine', 'C'));
    await other.commit([acquire('free', 'Y')]);
    await time.advance(1);
    expect((await store.commit([release('mine', 'A')])).events.map(brief)).toEqual(['RELEASED mine A', 'ACQUIRED mine C for C']);
  });

  test('that a call for several locks came to be the first', async () => {
    const { store, other } = await openLine('B');
    await join(other, waitForAll(['mine', 'theirs'], 'M', ON_OTHER));
    await other.commit([leave('B', 1n, 'mine')]);
    expect((await store.commit([release('mine', 'A')])).events.map(brief)).toEqual(['RELEASED mine A']);
    expect((await other.commit([release('theirs', 'A')])).events.map(brief)).toEqual([
      'RELEASED theirs A',
      'ACQUIRED mine M for M',
      'ACQUIRED theirs M for M',
    ]);
  });
});

describe('whoever would stand in line', () => {
  test('gets the lock, where it has become free', async () => {
    const { databaseUrl, store, other } = await openLine('B');
    await other.commit([release('mine', 'A')]);
    await other.commit([release('mine', 'B')]);
    expect((await store.commit([wait('mine', 'C')])).events.map(brief)).toEqual(['ACQUIRED mine C']);
    expect(await lineOf(databaseUrl)).toEqual([]);
  });

  test('gets the lock, where it has expired', async () => {
    const { store, other, time } = await openLine('B');
    await other.commit([release('mine', 'A')]);
    await other.commit([release('mine', 'B'), acquire('mine', 'Z', { ttlMs: 10 })]);
    await time.advance(10);
    expect((await store.commit([wait('mine', 'C')])).events.map(brief)).toEqual(['EXPIRED mine Z', 'ACQUIRED mine C']);
  });

  test('acquires it again, where it holds it by now', async () => {
    const { store, other } = await openLine('B');
    await other.commit([release('mine', 'A')]);
    const { outcomes } = await store.commit([wait('mine', 'B', { id: 'second' })]);
    expect(outcomes).toMatchObject([{ kind: 'acquired', reacquired: true }]);
  });

  test('does so beside others that are told who holds it by now', async () => {
    const { store, other } = await openLine('B');
    await other.commit([release('mine', 'A')]);
    const { outcomes } = await store.commit([wait('mine', 'C'), acquire('mine', 'D')]);
    expect(outcomes).toMatchObject([
      { kind: 'queued', ticket: 2n },
      { kind: 'conflict', current: { owner: 'B', fencingToken: 4n } },
    ]);
  });

  test('takes over the place of its request', async () => {
    const { databaseUrl, store, other } = await openLine('B');
    await join(other, wait('mine', 'C', { requestId: 'r' }));
    await join(other, wait('mine', 'D', ON_OTHER));
    const { outcomes } = await store.commit([wait('mine', 'C', { requestId: 'r', id: 'again' })]);
    expect(outcomes).toMatchObject([{ kind: 'queued', ticket: 2n, replaced: 'C' }]);
    expect(await lineOf(databaseUrl)).toEqual(['B 1', 'again 2', 'D 3']);
  });

  test('is refused, where its request is spent', async () => {
    const { store, other } = await openLine('B');
    await other.commit([acquire('spent', 'C', { requestId: 'r' }), release('spent', 'C'), acquire('spent', 'Z')]);
    await store.commit([acquire('spent', 'C')]);
    const { outcomes } = await store.commit([wait('spent', 'C', { requestId: 'r' })]);
    expect(outcomes).toMatchObject([{ kind: 'conflict', reason: 'REQUEST_SPENT' }]);
  });

  test('is refused, where it would close a circle', async () => {
    const { store, other } = await openLine('B');
    await other.commit([acquire('next', 'B')]);
    await store.commit([acquire('last', 'C')]);
    await join(other, wait('last', 'B', { ...ON_OTHER, id: 'B for last' }));
    const { outcomes } = await store.commit([wait('mine', 'C', { detectDeadlock: true })]);
    expect(outcomes).toMatchObject([{ kind: 'conflict', reason: 'DEADLOCK' }]);
  });
});

test('two turns of one line in one group are handed on as they come', async () => {
  const { databaseUrl, store, other } = await openLine('B', 'C');
  await other.commit([leave('C', 2n, 'mine')]);
  await join(other, wait('mine', 'D', ON_OTHER));
  const { events } = await store.commit([release('mine', 'A'), release('mine', 'B')]);
  expect(events.map(brief)).toEqual(['RELEASED mine A', 'ACQUIRED mine B for B', 'RELEASED mine B', 'ACQUIRED mine D for D']);
  expect(await lineOf(databaseUrl)).toEqual([]);
});

test('after a line has run out that was known in part, the instance asks who stands in it', async () => {
  const { databaseUrl, store, other } = await openLine('B');
  await other.commit([release('mine', 'A')]);
  await join(other, wait('mine', 'C', ON_OTHER));
  await logOf(store);
  const allow = await forbidToAsk(databaseUrl);
  await expect(store.commit([release('mine', 'B')])).rejects.toThrow('holdfast_take_lock');
  await allow();
  expect((await store.commit([release('mine', 'B')])).events.map(brief)).toEqual(['RELEASED mine B', 'ACQUIRED mine C for C']);
});
