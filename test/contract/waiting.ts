import { expect, it } from 'vitest';
import { INSTANCE_LEASE_MS } from '../../src/store/instance-lease.js';
import { PASSED_OVER_MS } from '../../src/store/retention.js';
import { FIRST_IN_LINE } from '../../src/store/standing.js';
import { acquire, release, renew } from '../support/commands.js';
import { acquired, only } from './decisions.js';
import { brief, join, leave, logAfter, wait, WAIT_MS, waitForAll } from './lines.js';
import { RETRY_WINDOW_MS, type OpenFixture } from './store-fixture.js';

const KEEP_ALL = { eventAgeMs: 1e12, eventRows: 1_000_000, expiredLockAgeMs: 1e12 };

/** What a store makes of those who stand in line, whatever its database. */
export function describeWaiting(openFixture: OpenFixture): void {
  it('an acquire that waits for a lock that is free takes it at once, and nobody stands in line', async () => {
    const { open, waiting } = await openFixture();
    const store = await open();
    expect(await only(store, wait('r', 'a'))).toMatchObject({ kind: 'acquired', lock: { owner: 'a' } });
    expect(await waiting()).toEqual({ counted: 0n, present: 0n });
  });

  it('an acquire that waits for a held lock stands in line, and writes no event', async () => {
    const { open, time, waiting } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a');
    const outcome = await only(store, wait('r', 'b'));
    expect(outcome).toEqual({ kind: 'queued', ticket: 1n, deadline: time.wall + WAIT_MS, replaced: null });
    expect(await waiting()).toEqual({ counted: 1n, present: 1n });
    expect((await store.head()).revision).toBe(1n);
  });

  it('whoever releases hands over in the same group, in the order of arrival', async () => {
    const { open, time, waiting } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a');
    await join(store, wait('r', 'b', { metadata: '{"n":1}', requestId: 'q', ttlMs: 1234 }));
    await join(store, wait('r', 'c'));
    time.advance(10);
    const { events } = await store.commit([release('r', 'a')]);
    expect(events.map(brief)).toEqual(['RELEASED r a', 'ACQUIRED r b for b']);
    expect(events[1]).toMatchObject({ fencingToken: 3n, metadata: '{"n":1}', requestId: 'q', expiresAt: time.wall + 1234 });
    expect((await store.commit([release('r', 'b', 3n)])).events.map(brief)).toEqual(['RELEASED r b', 'ACQUIRED r c for c']);
    expect(await logAfter(store, 1n)).toEqual(['RELEASED r a', 'ACQUIRED r b for b', 'RELEASED r b', 'ACQUIRED r c for c']);
    expect(await waiting()).toEqual({ counted: 0n, present: 0n });
  });

  it('a lock that was handed over is held as any other is', async () => {
    const store = await (await openFixture()).open();
    await acquired(store, 'r', 'a');
    await join(store, wait('r', 'b', { requestId: 'q' }));
    await store.commit([release('r', 'a')]);
    expect(await only(store, renew('r', 'b', { fencingToken: 3n }))).toMatchObject({ kind: 'renewed' });
    expect(await only(store, acquire('r', 'b', { requestId: 'q' }))).toMatchObject({
      kind: 'acquired',
      lock: { fencingToken: 3n },
    });
    expect(await only(store, acquire('r', 'c'))).toMatchObject({ kind: 'conflict', current: { owner: 'b' } });
    await store.commit([release('r', 'b')]);
    expect(await only(store, acquire('r', 'b', { requestId: 'q' }))).toMatchObject({ kind: 'conflict', reason: 'REQUEST_SPENT' });
  });

  it('the expiry of a lock hands it over', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a', { ttlMs: 1000 });
    await join(store, wait('r', 'b'));
    time.advance(1000);
    const { events } = await store.commit([{ kind: 'expire', resource: 'r' }]);
    expect(events.map(brief)).toEqual(['EXPIRED r a', 'ACQUIRED r b for b']);
  });

  it('whoever gives up its place gets nothing, and whoever is behind it moves up', async () => {
    const { open, waiting } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a');
    const ticket = await join(store, wait('r', 'b'));
    await join(store, wait('r', 'c'));
    expect(await only(store, leave('b', ticket, 'r'))).toMatchObject({ kind: 'left', blockedBy: [{ owner: 'a' }] });
    expect(await only(store, leave('b', ticket, 'r'))).toMatchObject({ kind: 'not-in-line' });
    expect(await waiting()).toEqual({ counted: 1n, present: 1n });
    expect((await store.commit([release('r', 'a')])).events.map(brief)).toEqual(['RELEASED r a', 'ACQUIRED r c for c']);
  });

  it('a call that is repeated keeps its place, and so does a request that another call makes again', async () => {
    const { open, waiting } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a');
    const ticket = await join(store, wait('r', 'b', { requestId: 'q' }));
    await join(store, wait('r', 'c'));
    expect(await join(store, wait('r', 'c'))).toBe(ticket + 1n);
    expect(await join(store, wait('r', 'b', { requestId: 'q' }))).toBe(ticket);
    expect(await only(store, wait('r', 'b', { requestId: 'q', id: 'again' }))).toMatchObject({
      kind: 'queued',
      ticket,
      replaced: 'b',
    });
    expect(await waiting()).toEqual({ counted: 2n, present: 2n });
    expect(await only(store, leave('b', ticket, 'r'))).toMatchObject({ kind: 'not-in-line' });
    expect((await store.commit([release('r', 'a')])).events.map(brief)).toEqual(['RELEASED r a', 'ACQUIRED r b for again']);
  });

  it('whoever waits for several locks gets all of them at once, when the last one is free', async () => {
    const { open, waiting } = await openFixture();
    const store = await open();
    await store.commit([acquire('x', 'a'), acquire('y', 'b')]);
    await join(store, waitForAll(['x', 'y', 'z'], 'c'));
    expect(await waiting()).toEqual({ counted: 3n, present: 3n });
    expect((await store.commit([release('x', 'a')])).events.map(brief)).toEqual(['RELEASED x a']);
    const { events } = await store.commit([release('y', 'b')]);
    expect(events.map(brief)).toEqual(['RELEASED y b', 'ACQUIRED x c for c', 'ACQUIRED y c for c', 'ACQUIRED z c for c']);
    expect(await waiting()).toEqual({ counted: 0n, present: 0n });
    const held = await store.readLocks({ resource: null, prefix: null, owner: 'c' }, null, 10, await store.now());
    expect(held.map(({ resource }) => resource)).toEqual(['x', 'y', 'z']);
  });

  it('a free lock is kept for the first in line, and goes to the next one when that one leaves', async () => {
    const store = await (await openFixture()).open();
    await acquired(store, 'y', 'b');
    const ticket = await join(store, waitForAll(['x', 'y'], 'c'));
    expect(await only(store, acquire('x', 'd'))).toMatchObject({ kind: 'conflict', reason: 'HELD_BY_ANOTHER', current: null });
    await join(store, wait('x', 'd'));
    expect((await store.commit([leave('c', ticket, 'x', 'y')])).events.map(brief)).toEqual(['ACQUIRED x d for d']);
  });

  it('to wait in a circle of owners is refused where that was asked for', async () => {
    const { open, waiting } = await openFixture();
    const store = await open();
    await store.commit([acquire('x', 'a'), acquire('y', 'b'), acquire('z', 'c')]);
    await join(store, wait('y', 'a'));
    await join(store, wait('z', 'b'));
    expect(await only(store, wait('x', 'c', { detectDeadlock: true }))).toMatchObject({
      kind: 'conflict',
      reason: 'DEADLOCK',
      circle: [
        { owner: 'c', resource: 'x' },
        { owner: 'a', resource: 'y' },
        { owner: 'b', resource: 'z' },
      ],
    });
    expect(await waiting()).toEqual({ counted: 2n, present: 2n });
    await join(store, wait('x', 'd', { detectDeadlock: true }));
  });

  it('in a line that is longer than what is read at first, the turn comes to whoever is left', async () => {
    const { open, waiting } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a');
    const owners = Array.from({ length: FIRST_IN_LINE + 2 }, (_, n) => `b:${n}`);
    const { outcomes } = await store.commit(owners.map((owner) => wait('r', owner)));
    expect(outcomes.map((outcome) => outcome.kind === 'queued' && outcome.ticket)).toEqual(owners.map((_, n) => BigInt(n + 1)));
    const last = owners.pop() as string;
    const { events } = await store.commit([...owners.map((owner, n) => leave(owner, BigInt(n + 1), 'r')), release('r', 'a')]);
    expect(events.map(brief)).toEqual(['RELEASED r a', `ACQUIRED r ${last} for ${last}`]);
    expect(await waiting()).toEqual({ counted: 0n, present: 0n });
  });

  it('whoever has waited for as long as it wished is passed over', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a');
    await join(store, wait('r', 'b', { waitMs: 1000 }));
    await join(store, wait('r', 'c', { waitMs: 1001 }));
    time.advance(1000);
    expect((await store.commit([release('r', 'a')])).events.map(brief)).toEqual(['RELEASED r a', 'ACQUIRED r c for c']);
  });

  it('those of an instance without a sign of life are passed over, and are back in line when it gives one', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a', { ttlMs: 100_000 });
    await join(store, wait('r', 'b', { instance: 'silent', waitMs: 100_000 }));
    await join(store, wait('r', 'c', { waitMs: 100_000 }));
    time.advance(INSTANCE_LEASE_MS);
    await store.keepAlive('one', time.wall + INSTANCE_LEASE_MS);
    expect((await store.commit([release('r', 'a')])).events.map(brief)).toEqual(['RELEASED r a', 'ACQUIRED r c for c']);
    await store.keepAlive('silent', time.wall + INSTANCE_LEASE_MS);
    expect((await store.commit([release('r', 'c')])).events.map(brief)).toEqual(['RELEASED r c', 'ACQUIRED r b for b']);
  });

  it('a sign of life never takes back what an earlier one promised', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a', { ttlMs: 100_000 });
    await store.keepAlive('one', time.wall + 20_000);
    await join(store, wait('r', 'b', { waitMs: 100_000 }));
    await store.keepAlive('one', time.wall + 10_000);
    time.advance(19_999);
    expect((await store.commit([release('r', 'a')])).events.map(brief)).toEqual(['RELEASED r a', 'ACQUIRED r b for b']);
  });

  it('a line is idle where the lock is free and it may be the turn of somebody in it', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    expect(await store.idleLines(null, 10)).toEqual([]);
    await store.commit(['x', 'y', 'z'].map((resource) => acquire(resource, 'a', { ttlMs: 1000 })));
    await store.commit([
      wait('x', 'b'),
      wait('x', 'c'),
      wait('y', 'b', { id: 'short', waitMs: 1000 }),
      wait('z', 'b', { id: 'z' }),
    ]);
    expect(await store.idleLines(null, 10)).toEqual([]);
    time.advance(1000);
    expect(await store.idleLines(null, 10)).toEqual(['x', 'z']);
    expect(await store.idleLines(null, 1)).toEqual(['x']);
    expect(await store.idleLines('x', 10)).toEqual(['z']);
    expect(await store.idleLines('z', 10)).toEqual([]);
    await store.commit([{ kind: 'expire', resource: 'x' }]);
    expect(await store.idleLines(null, 10)).toEqual(['z']);
    time.advance(INSTANCE_LEASE_MS);
    expect(await store.idleLines(null, 10)).toEqual([]);
  });

  it('of the lines that are idle for the same call, one is told', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    await store.commit([
      acquire('x', 'a', { ttlMs: 1000 }),
      acquire('y', 'a', { ttlMs: 1000 }),
      acquire('z', 'a', { ttlMs: 2000 }),
    ]);
    await store.commit([waitForAll(['z', 'y', 'x', 'w'], 'b'), wait('w', 'c'), wait('x', 'd')]);
    expect(await store.idleLines(null, 10)).toEqual(['w']);
    time.advance(1000);
    expect(await store.idleLines(null, 10)).toEqual(['w']);
    expect(await store.idleLines('w', 10)).toEqual([]);
    time.advance(1000);
    const { events } = await store.commit([{ kind: 'expire', resource: 'w' }]);
    expect(events.filter(({ type }) => type === 'ACQUIRED').map(({ resource }) => resource)).toEqual(['z', 'y', 'x', 'w']);
    expect(await store.idleLines(null, 10)).toEqual([]);
  });

  it('the places in a line are counted without those who were passed over', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    await store.commit([acquire('x', 'a'), acquire('y', 'a')]);
    await store.commit([wait('x', 'b', { waitMs: 1000 }), wait('x', 'c', { instance: 'two' }), wait('x', 'd'), wait('y', 'e')]);
    expect(await store.positions('one', ['x'])).toEqual(
      new Map([
        ['b', 1],
        ['d', 3],
      ]),
    );
    time.advance(1000);
    expect(await store.positions('one', ['x', 'y'])).toEqual(
      new Map([
        ['d', 2],
        ['e', 1],
      ]),
    );
  });

  it('those whose time has passed are removed a while later, and no others', async () => {
    const { open, time, waiting } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a', { ttlMs: 200_000 });
    await store.commit([
      wait('r', 'b', { waitMs: 1000 }),
      wait('r', 'c', { waitMs: 200_000, instance: 'silent' }),
      wait('r', 'd', { waitMs: 200_000 }),
      waitForAll(['r', 's'], 'e', { waitMs: 2000 }),
    ]);
    await store.keepAlive('one', time.wall + 200_000);
    time.advance(PASSED_OVER_MS + 999);
    expect(await store.prune(KEEP_ALL)).toBe(false);
    expect(await waiting()).toEqual({ counted: 5n, present: 5n });
    time.advance(1);
    await store.prune(KEEP_ALL);
    expect(await waiting()).toEqual({ counted: 4n, present: 4n });
    time.advance(INSTANCE_LEASE_MS);
    await store.prune(KEEP_ALL);
    expect(await waiting()).toEqual({ counted: 1n, present: 1n });
    expect((await store.commit([release('r', 'a')])).events.map(brief)).toEqual(['RELEASED r a', 'ACQUIRED r d for d']);
  });

  it('the log tells whose turn it was for as long as it tells of the acquisition', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    await acquired(store, 'r', 'a');
    await join(store, wait('r', 'b'));
    await join(store, wait('r', 'c'));
    await store.commit([release('r', 'a')]);
    time.advance(RETRY_WINDOW_MS + 1);
    await store.keepAlive('one', time.wall + 1);
    await store.commit([release('r', 'b'), acquire('r', 'd')]);
    await store.prune({ ...KEEP_ALL, eventAgeMs: 0 });
    const { oldestRevision } = await store.head();
    expect(oldestRevision).toBe(3n);
    expect(await logAfter(store, oldestRevision)).toEqual(['EXPIRED r b', 'ACQUIRED r d']);
  });
}
