import { expect, it } from 'vitest';
import type { Acquired, Conflict } from '../../src/locks/outcomes.js';
import type { LockStore } from '../../src/store/lock-store.js';
import { SEGMENT_REVISIONS } from '../../src/store/log-segments.js';
import { acquire, release, renew } from '../support/commands.js';
import { everything, RETRY_WINDOW_MS, type OpenFixture } from './store-fixture.js';

/** What a store must make of commands, whatever its database. */
export function describeDecisions(openFixture: OpenFixture): void {
  it('a group of one acquire stores the lock, its event and the revision', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    const lock = await acquired(store, 'job:1', 'a', { metadata: '{"host":"x"}', requestId: 'q' });
    expect(lock).toMatchObject({ fencingToken: 1n, revision: 1n, acquiredAt: time.wall, expiresAt: time.wall + 30_000 });
    expect(await store.readLocks(everything, null, 10, time.wall)).toEqual([lock]);
    const page = await store.readLog(0n, 10, everything);
    expect(page).toMatchObject({ revision: 1n, through: 1n, oldestRevision: 0n });
    expect(page.events).toMatchObject([
      { type: 'ACQUIRED', revision: 1n, at: time.wall, metadata: '{"host":"x"}', requestId: 'q' },
    ]);
  });

  it('several commands on one resource in a group see one another, and each keeps its event', async () => {
    const store = await (await openFixture()).open();
    const { outcomes, events } = await store.commit([
      acquire('r', 'a'),
      acquire('r', 'b'),
      release('r', 'a', 1n),
      acquire('r', 'b'),
    ]);
    expect(outcomes).toMatchObject([
      { kind: 'acquired' },
      { kind: 'conflict', reason: 'HELD_BY_ANOTHER' },
      { kind: 'released', fencingToken: 1n },
      { kind: 'acquired', lock: { owner: 'b', fencingToken: 3n } },
    ]);
    expect(events.map(({ type, revision }) => [type, revision])).toEqual([
      ['ACQUIRED', 1n],
      ['RELEASED', 2n],
      ['ACQUIRED', 3n],
    ]);
  });

  it('a claim of an expired lock records the expiry first, and raises the token', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    const first = await acquired(store, 'r', 'a', { ttlMs: 1000 });
    time.advance(1000);
    const second = await acquired(store, 'r', 'b');
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    const { events } = await store.readLog(0n, 10, everything);
    expect(events.map(({ type, at }) => [type, at])).toEqual([
      ['ACQUIRED', first.acquiredAt],
      ['EXPIRED', first.expiresAt],
      ['ACQUIRED', time.wall],
    ]);
  });

  it('an expiry that nobody swept makes the lock absent from reads, exactly when the TTL has passed', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a', { ttlMs: 1000 });
    time.advance(999);
    expect(await store.countHeld()).toBe(1);
    expect(await store.dueExpiries(10)).toEqual([]);
    time.advance(1);
    expect(await store.countHeld()).toBe(0);
    expect(await store.readLocks(everything, null, 10, await store.now())).toEqual([]);
    expect(await store.dueExpiries(10)).toEqual(['r']);
    await store.commit([{ kind: 'expire', resource: 'r' }]);
    expect(await store.dueExpiries(10)).toEqual([]);
  });

  it('an acquire is recognised by its requestId while it is held, spent after its release, and new after the retry window', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    const first = await acquired(store, 'r', 'a', { requestId: 'q' });
    time.advance(1000);
    expect(await acquired(store, 'r', 'a', { requestId: 'q' })).toEqual(first);
    await store.commit([release('r', 'a')]);
    expect(await only(store, acquire('r', 'a', { requestId: 'q' }))).toMatchObject({ kind: 'conflict', reason: 'REQUEST_SPENT' });
    expect(await only(store, acquire('r', 'b', { requestId: 'q' }))).toMatchObject({ kind: 'acquired' });
    await store.commit([release('r', 'b')]);
    time.advance(RETRY_WINDOW_MS);
    expect((await acquired(store, 'r', 'a', { requestId: 'q' })).fencingToken).toBeGreaterThan(first.fencingToken);
  });

  it('a release is recognised by its token within the retry window, whoever holds the lock by then', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    const { fencingToken } = await acquired(store, 'r', 'a');
    const released = await only(store, release('r', 'a', fencingToken));
    const next = await acquired(store, 'r', 'a');
    time.advance(RETRY_WINDOW_MS);
    await store.commit([acquire('r', 'a')]);
    expect(await only(store, release('r', 'a', fencingToken))).toEqual(released);
    expect(next.fencingToken).toBeGreaterThan(fencingToken);
    time.advance(1);
    expect(await only(store, release('r', 'a', fencingToken))).toMatchObject({ kind: 'conflict', reason: 'STALE_TOKEN' });
  });

  it('a release is recognised however far the log has gone on since, and over a gap that a restore left', async () => {
    const { open, setRevision } = await openFixture();
    const store = await open();
    const { fencingToken } = await acquired(store, 'r', 'a');
    await setRevision(5n * SEGMENT_REVISIONS);
    await store.commit([acquire('other', 'b'), renew('r', 'a')]);
    const released = await only(store, release('r', 'a', fencingToken));
    for (const revision of [100n * SEGMENT_REVISIONS, 1_000_000_000_000n]) {
      await setRevision(revision);
      expect(await only(store, release('r', 'a', fencingToken))).toEqual(released);
      expect(await only(store, release('r', 'a', fencingToken + 1n))).toMatchObject({ kind: 'not-found' });
      await store.commit([renew('other', 'b')]);
    }
  });

  it('renewals and releases with the token of an earlier acquisition change nothing', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    const first = await acquired(store, 'r', 'a', { ttlMs: 1000 });
    time.advance(1500);
    const second = await acquired(store, 'r', 'a', { ttlMs: 60_000 });
    for (const command of [
      renew('r', 'a', { fencingToken: first.fencingToken, ttlMs: 600_000 }),
      release('r', 'a', first.fencingToken),
    ]) {
      expect(await only(store, command)).toMatchObject({ kind: 'conflict', reason: 'STALE_TOKEN' });
    }
    expect(await store.readLocks(everything, null, 10, time.wall)).toEqual([second]);
    expect(await only(store, release('r', 'a', second.fencingToken))).toMatchObject({ kind: 'released' });
  });

  it('revisions and tokens beyond 2^53 stay exact and distinct', async () => {
    const { open, setRevision } = await openFixture();
    const store = await open();
    for (const start of [2_147_483_646n, 9_007_199_254_740_991n]) {
      await setRevision(start);
      const tokens = [];
      for (const owner of ['a', 'b', 'c']) tokens.push((await acquired(store, `r:${start}:${owner}`, owner)).fencingToken);
      expect(tokens).toEqual([start + 1n, start + 2n, start + 3n]);
      const last = await store.commit([
        renew(`r:${start}:c`, 'c', { fencingToken: start + 3n }),
        release(`r:${start}:a`, 'a', start + 1n),
      ]);
      expect(last.events.map(({ revision }) => revision)).toEqual([start + 4n, start + 5n]);
      expect((await store.readLog(start + 2n, 10, everything)).events.map(({ revision }) => revision)).toEqual([
        start + 3n,
        start + 4n,
        start + 5n,
      ]);
    }
  });

  it('a refusal writes nothing', async () => {
    const store = await (await openFixture()).open();
    await acquired(store, 'r', 'a');
    const { events, outcomes } = await store.commit([acquire('r', 'b'), release('free', 'b'), renew('free', 'b')]);
    expect(events).toEqual([]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['conflict', 'not-found', 'not-found']);
    expect((await store.head()).revision).toBe(1n);
    expect((outcomes[0] as Conflict).current).toMatchObject({ owner: 'a', fencingToken: 1n });
  });

  it('two instances decide in one order: one holder for each name, revisions without a gap', async () => {
    const { open } = await openFixture();
    const stores = [await open(), await open()];
    const names = Array.from({ length: 20 }, (_, i) => `r:${i}`);
    const groups = await Promise.all(
      Array.from({ length: 40 }, (_, i) => stores[i % 2]!.commit(names.map((name) => acquire(name, `owner:${i}`)))),
    );
    const won = groups.flatMap(({ outcomes }) => outcomes).filter(({ kind }) => kind === 'acquired');
    expect(won).toHaveLength(names.length);
    const { events } = await stores[0]!.readLog(0n, 1000, everything);
    expect(events.map(({ revision }) => revision)).toEqual(names.map((_, i) => BigInt(i + 1)));
  });
}

export async function only(store: LockStore, command: Parameters<LockStore['commit']>[0][number]) {
  return (await store.commit([command])).outcomes[0];
}

export async function acquired(store: LockStore, resource: string, owner: string, rest: Parameters<typeof acquire>[2] = {}) {
  const outcome = await only(store, acquire(resource, owner, rest));
  expect(outcome).toMatchObject({ kind: 'acquired' });
  return (outcome as Acquired).lock;
}
