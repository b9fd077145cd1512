import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { holdWriteLock } from '../support/database-faults.js';
import { ManualTime } from '../support/manual-time.js';
import { brief } from './log-checks.js';
import { LOCK, lockOf, tokenOf } from './lock-api.js';
import { Session } from './session.js';
import type { SnapshotItem } from './watch.js';

const READ_ALL_WAYS = `query ($resource: String!, $id: ID!) {
  lock(resource: $resource) { ...L }
  locks(filter: { prefix: $resource }) { totalCount edges { node { ...L } } }
  node(id: $id) { ... on Lock { ...L } }
} ${LOCK}`;

const FREE = { lock: null, locks: { totalCount: 0, edges: [] }, node: null };

describe('a lock whose expiry has passed', () => {
  test('reads as free at once in every way to read it, before anything has recorded the expiry', async () => {
    const time = new ManualTime();
    const { url, databaseUrl } = await startTestApp({ time });
    const session = await Session.open(url);
    const { api } = session;
    await api.acquire('r', 'A', { ttlMs: 500 });
    const { lock } = await api.query<{ lock: { id: string } }>('{ lock(resource: "r") { id } }');
    const letWritersGoOn = await holdWriteLock(databaseUrl);
    time.advance(800);

    expect(await api.query(READ_ALL_WAYS, { resource: 'r', id: lock.id })).toEqual(FREE);
    const watch = await session.watch();
    expect((watch.items[0] as SnapshotItem).locks).toEqual([]);
    expect((await api.events()).map(brief)).toEqual(['ACQUIRED r A']);

    await letWritersGoOn();
    await watch.reach('2');
    expect(await api.query(READ_ALL_WAYS, { resource: 'r', id: lock.id })).toEqual(FREE);
  });

  test('can be neither renewed nor released, and is taken over with a higher token', async () => {
    const time = new ManualTime();
    const { api } = await Session.open((await startTestApp({ time })).url);
    const expired = tokenOf(await api.acquire('r', 'A', { ttlMs: 500 }));
    time.advance(800);
    expect(await api.renew('r', 'A')).toMatchObject({ __typename: 'Conflict', reason: 'EXPIRED', current: null });
    expect((await api.release('r', 'A')).__typename).toBe('NotFound');
    const taken = lockOf(await api.acquire('r', 'B'));
    expect(BigInt(taken.fencingToken)).toBeGreaterThan(BigInt(expired));
    for (const fencingToken of [null, expired]) {
      expect(await api.renew('r', 'A', { fencingToken })).toMatchObject({ reason: 'HELD_BY_ANOTHER', current: taken });
    }
    expect(await api.lock('r')).toEqual(taken);
    expect((await api.events()).map(brief)).toEqual(['ACQUIRED r A', 'EXPIRED r A', 'ACQUIRED r B']);
  });

  test('while no server ran is told once by the next one, as of the moment at which it expired', async () => {
    const time = new ManualTime();
    const first = await startTestApp({ time });
    const { expiresAt } = lockOf(await (await Session.open(first.url)).api.acquire('r', 'A', { ttlMs: 3_000 }));
    time.advance(1_000);
    await first.close();
    time.advance(5_000);

    const { url } = await startTestApp({ time, env: { DATABASE_URL: first.databaseUrl } });
    const session = await Session.open(url);
    const watch = await session.watch({ after: '1' });
    // Whatever were told twice would come before the next change.
    await session.api.acquire('next', 'B');
    await watch.reach('3');
    expect(watch.events.map((event) => [brief(event), event.at])).toEqual([
      ['EXPIRED r A', expiresAt],
      ['ACQUIRED next B', expect.any(String)],
    ]);
    expect((await session.api.events()).map(({ revision }) => revision)).toEqual(['1', '2', '3']);
  });
});
