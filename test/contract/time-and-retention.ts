import { expect, it } from 'vitest';
import type { LockStore, RetentionPolicy } from '../../src/store/lock-store.js';
import { acquire, release } from '../support/commands.js';
import { acquired, only } from './decisions.js';
import { everything, RETRY_WINDOW_MS, type OpenFixture } from './store-fixture.js';

const HOUR_MS = 3_600_000;
const KEEP_ALL: RetentionPolicy = { eventAgeMs: 1000 * HOUR_MS, eventRows: 1_000_000, expiredLockAgeMs: 1000 * HOUR_MS };

/** Clock and pruning, whatever the database. */
export function describeTimeAndRetention(openFixture: OpenFixture): void {
  it('events are pruned by number, but none within the retry window', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    for (let i = 0; i < 10; i++) await acquired(store, `r:${i}`, 'a');
    await pruneAll(store, { ...KEEP_ALL, eventRows: 3 });
    expect((await store.head()).oldestRevision).toBe(0n);
    time.advance(RETRY_WINDOW_MS + 1);
    await pruneAll(store, { ...KEEP_ALL, eventRows: 3 });
    const page = await store.readLog(0n, 100, everything);
    expect(page.events.map(({ revision }) => revision)).toEqual([8n, 9n, 10n]);
    expect(page.oldestRevision).toBe(7n);
  });

  it('events are pruned by age, in steps that leave nothing behind', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    const old = Array.from({ length: 2500 }, (_, i) => acquire(`old:${i}`, 'a'));
    await store.commit(old);
    time.advance(2 * HOUR_MS);
    await acquired(store, 'young', 'a');
    await pruneAll(store, { ...KEEP_ALL, eventAgeMs: HOUR_MS });
    expect(await store.head()).toMatchObject({ revision: 2501n, oldestRevision: 2500n });
    expect((await store.readLog(0n, 10, everything)).events).toMatchObject([{ resource: 'young' }]);
  });

  it('tokens and revisions go on rising after everything was pruned and the store was opened anew', async () => {
    const { open, time } = await openFixture();
    const first = await open();
    const { fencingToken } = await acquired(first, 'r', 'a');
    const released = await only(first, release('r', 'a'));
    time.advance(HOUR_MS);
    await pruneAll(first, { eventAgeMs: 0, eventRows: 1, expiredLockAgeMs: 0 });
    await first.close();
    const second = await open();
    expect((await second.readLog(0n, 10, everything)).events).toEqual([]);
    const next = await acquired(second, 'r', 'b');
    expect(next.fencingToken).toBeGreaterThan(fencingToken);
    expect(next.fencingToken).toBe((released as { revision: bigint }).revision + 1n);
  });

  it('the row of an expired lock is kept for its answers until its retention is over', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a', { ttlMs: 1000 });
    time.advance(HOUR_MS);
    await store.commit([{ kind: 'expire', resource: 'r' }]);
    const renewal = { kind: 'renew', resource: 'r', owner: 'a', fencingToken: null, ttlMs: null } as const;
    await pruneAll(store, { ...KEEP_ALL, expiredLockAgeMs: 2 * HOUR_MS });
    expect(await only(store, renewal)).toMatchObject({ kind: 'conflict', reason: 'EXPIRED' });
    await pruneAll(store, { ...KEEP_ALL, expiredLockAgeMs: HOUR_MS / 2 });
    expect(await only(store, renewal)).toMatchObject({ kind: 'not-found' });
  });

  it('the clock never runs back, neither in an instance nor over a restart', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    const { acquiredAt } = await acquired(store, 'r', 'a');
    time.jumpTo(acquiredAt - HOUR_MS);
    expect(await store.now()).toBe(acquiredAt);
    expect((await acquired(store, 'q', 'a')).acquiredAt).toBe(acquiredAt);
    await store.close();
    const reopened = await open();
    expect(await reopened.now()).toBe(acquiredAt);
    expect(await only(reopened, acquire('r', 'b'))).toMatchObject({ kind: 'conflict' });
    time.jumpTo(acquiredAt + HOUR_MS);
    expect(await reopened.now()).toBe(acquiredAt + HOUR_MS);
  });
}

async function pruneAll(store: LockStore, policy: RetentionPolicy): Promise<void> {
  while (await store.prune(policy));
}
