import { expect, it } from 'vitest';
import type { WatchItem } from '../../src/engine/watch.js';
import { acquire, release, renew } from '../support/commands.js';
import { brief, startEngine, take, watchRequest } from '../support/engine.js';
import { runSql } from '../support/sql.js';

it('a watch begins with what is held, and goes on with every change after it', async () => {
  const { engine } = await startEngine();
  await engine.submit(acquire('a', 'o'));
  const watch = engine.watch(watchRequest());
  await engine.submit(acquire('b', 'o'));
  const [first] = await take(watch, 1);
  expect(brief(first!)).toBe('STARTED a b 2');
  await engine.submit(renew('a', 'o'));
  await engine.submit(release('b', 'o'));
  expect((await take(watch, 2)).map(brief)).toEqual(['RENEWED a 3', 'RELEASED b 4']);
  await watch.return?.();
});

it('a watch without a snapshot begins with a bookmark at the moment of the call, and misses nothing after it', async () => {
  const { engine } = await startEngine();
  await engine.submit(acquire('a', 'o'));
  const watch = engine.watch(watchRequest({ snapshot: false }));
  await engine.submit(acquire('b', 'o'));
  expect((await take(watch, 2)).map(brief)).toEqual(['bookmark 1', 'ACQUIRED b 2']);
  await watch.return?.();
});

it('a watch after a revision replays from the next one, then goes on live without a gap or a double', async () => {
  const { engine } = await startEngine();
  for (let i = 1; i <= 1200; i++) void engine.submit(acquire(`r:${i}`, 'o'));
  await engine.submit(acquire('last', 'o'));
  const watch = engine.watch(watchRequest({ after: 700n }));
  const replayed = await take(watch, 200);
  for (let i = 1; i <= 300; i++) void engine.submit(release(`r:${i}`, 'o'));
  const rest = await take(watch, 601);
  const revisions = [...replayed, ...rest].map((item) => (item.kind === 'event' ? item.event.revision : null));
  expect(revisions).toEqual(Array.from({ length: 801 }, (_, i) => BigInt(701 + i)));
  await watch.return?.();
});

it('a watcher that did not read for a while gets everything in order once it reads again', async () => {
  const { engine } = await startEngine();
  const watch = engine.watch(watchRequest({ snapshot: false }));
  await take(watch, 1);
  const pending = watch.next();
  for (let i = 1; i <= 3000; i++) void engine.submit(acquire(`r:${i}`, 'o'));
  await engine.submit(acquire('last', 'o'));
  const items = [(await pending).value as WatchItem, ...(await take(watch, 3000))];
  expect(items.map(brief)).toEqual([
    ...Array.from({ length: 3000 }, (_, i) => `ACQUIRED r:${i + 1} ${i + 1}`),
    'ACQUIRED last 3001',
  ]);
  await watch.return?.();
});

it('filters narrow events by name, prefix, owner and type, and snapshots by all but the type', async () => {
  const { engine } = await startEngine();
  await engine.submit(acquire('job:1', 'a'));
  await engine.submit(acquire('job:2', 'b'));
  await engine.submit(acquire('other', 'a'));
  const expected = [
    [{ resource: 'job:1' }, 'STARTED job:1 3', 'RELEASED job:1 4'],
    [{ prefix: 'job:' }, 'STARTED job:1 job:2 3', 'RELEASED job:1 4', 'RENEWED job:2 5'],
    [{ owner: 'a' }, 'STARTED job:1 other 3', 'RELEASED job:1 4', 'RELEASED other 6'],
    [{ types: new Set(['RENEWED'] as const) }, 'STARTED job:1 job:2 other 3', 'RENEWED job:2 5'],
    [{ prefix: 'job:', owner: 'a', types: new Set(['RELEASED'] as const) }, 'STARTED job:1 3', 'RELEASED job:1 4'],
  ] as const;
  const watches = expected.map(([filter]) => engine.watch(watchRequest(filter)));
  const snapshots = await Promise.all(watches.map((watch) => take(watch, 1)));
  await engine.submit(release('job:1', 'a'));
  await engine.submit(renew('job:2', 'b'));
  await engine.submit(release('other', 'a'));
  for (const [index, [, ...items]] of expected.entries()) {
    const got = [...snapshots[index]!, ...(await take(watches[index]!, items.length - 1))];
    expect(got.map(brief)).toEqual(items);
    await watches[index]!.return?.();
  }
});

it('a large snapshot comes in parts, of which only the last is complete', async () => {
  const { engine } = await startEngine();
  await Promise.all(Array.from({ length: 1100 }, (_, i) => engine.submit(acquire(`r:${i}`, 'o'))));
  const watch = engine.watch(watchRequest());
  const parts = await take(watch, 3);
  expect(
    parts.map((item) => (item.kind === 'snapshot' ? [item.part, item.locks.length, item.complete, item.revision] : null)),
  ).toEqual([
    [1, 500, false, 1100n],
    [2, 500, false, 1100n],
    [3, 100, true, 1100n],
  ]);
  await watch.return?.();
});

it('what changes between the parts of a snapshot is told after it, and together they lead to what is held', async () => {
  const { engine } = await startEngine();
  await Promise.all(Array.from({ length: 1100 }, (_, i) => engine.submit(acquire(`r:${i}`, 'o'))));
  const watch = engine.watch(watchRequest());
  const items = await take(watch, 1);
  const changes = [
    release('r:0', 'o'),
    release('r:999', 'o'),
    renew('r:1', 'o'),
    renew('r:998', 'o'),
    acquire('a', 'o'),
    acquire('z', 'o'),
  ];
  for (const command of changes) await engine.submit(command);
  items.push(...(await take(watch, 2 + changes.length)));
  await watch.return?.();
  const fresh = engine.watch(watchRequest());
  expect(heldAfter(items)).toEqual(heldAfter(await take(fresh, 3)));
  await fresh.return?.();
});

it('a lock past its expiry is left out of a snapshot', async () => {
  const { engine, time } = await startEngine();
  await engine.submit(acquire('short', 'o', { ttlMs: 10 }));
  await engine.submit(acquire('long', 'o'));
  time.advance(10);
  const watch = engine.watch(watchRequest());
  const [snapshot] = await take(watch, 1);
  expect(snapshot).toMatchObject({ locks: [{ resource: 'long' }] });
  await watch.return?.();
});

it('a revision that is no longer kept is answered with a GAP snapshot, and the watch goes on from there', async () => {
  const { engine, databaseUrl } = await startEngine();
  for (const name of ['a', 'b', 'c', 'd']) await engine.submit(acquire(name, 'o'));
  await prune(databaseUrl, 3n);
  const watch = engine.watch(watchRequest({ after: 2n }));
  expect((await take(watch, 1)).map(brief)).toEqual(['GAP a b c d 4']);
  await engine.submit(release('d', 'o'));
  expect((await take(watch, 1)).map(brief)).toEqual(['RELEASED d 5']);
  await watch.return?.();
  const exact = engine.watch(watchRequest({ after: 3n }));
  expect((await take(exact, 1)).map(brief)).toEqual(['ACQUIRED d 4']);
  await exact.return?.();
});

it('a revision of the future or of another history is answered with a RESET snapshot', async () => {
  const { engine } = await startEngine();
  await engine.submit(acquire('a', 'o'));
  const { logId } = await engine.head();
  for (const request of [{ after: 2n }, { after: 1n, logId: 'another' }]) {
    const watch = engine.watch(watchRequest(request));
    expect((await take(watch, 1)).map(brief)).toEqual(['RESET a 1']);
    await watch.return?.();
  }
  const same = engine.watch(watchRequest({ after: 0n, logId }));
  expect((await take(same, 1)).map(brief)).toEqual(['ACQUIRED a 1']);
  await same.return?.();
});

it('a history that is replaced under a live watch is told with a RESET snapshot', async () => {
  const { engine, databaseUrl } = await startEngine();
  await engine.submit(acquire('a', 'o'));
  const watch = engine.watch(watchRequest());
  await take(watch, 1);
  const next = take(watch, 1);
  await runSql(databaseUrl, `UPDATE lock_clock SET log_id = 'restored', revision = 1000, oldest_revision = 1000`);
  expect((await next).map(brief)).toEqual(['RESET a 1000']);
  await engine.submit(release('a', 'o'));
  expect((await take(watch, 1)).map(brief)).toEqual(['RELEASED a 1001']);
  await watch.return?.();
});

it('a quiet watch gets a bookmark now and then, up to the newest revision of what it does not watch', async () => {
  const { engine } = await startEngine({ bookmarkMs: 20 });
  const watch = engine.watch(watchRequest({ resource: 'watched' }));
  await take(watch, 1);
  await engine.submit(acquire('other', 'o'));
  const [bookmark] = await take(watch, 1);
  expect(['bookmark 0', 'bookmark 1']).toContain(brief(bookmark!));
  expect((await take(watch, 1)).map(brief)).toEqual(['bookmark 1']);
  await watch.return?.();
});

it('a bookmark never falls behind what was told, even where the watcher has read further than the feed', async () => {
  const first = await startEngine({ bookmarkMs: 1 });
  const { engine } = first;
  const other = await startEngine({}, first);
  for (let round = 0n; round < 10n; round++) {
    await other.engine.submit(acquire(`r:${round}`, 'o'));
    const watch = engine.watch(watchRequest({ after: round }));
    const [event, bookmark] = await take(watch, 2);
    expect([event, bookmark].map((item) => brief(item!))).toEqual([`ACQUIRED r:${round} ${round + 1n}`, `bookmark ${round + 1n}`]);
    await watch.return?.();
  }
});

it('a long replay of what a watcher did not ask for lets everything else have its turn', async () => {
  const { engine } = await startEngine();
  await Promise.all(Array.from({ length: 10_000 }, (_, i) => engine.submit(acquire(`r:${i}`, 'o'))));
  let turns = 0;
  let isCounting = true;
  const count = () => {
    turns++;
    if (isCounting) setImmediate(count);
  };
  count();
  const watch = engine.watch(watchRequest({ after: 0n, types: new Set(['RELEASED'] as const) }));
  const next = take(watch, 1);
  await engine.submit(release('r:0', 'o'));
  expect((await next).map(brief)).toEqual(['RELEASED r:0 10001']);
  isCounting = false;
  // One for each page of 512 events, at the most.
  expect(turns).toBeGreaterThanOrEqual(19);
  await watch.return?.();
});

it('a watch that is returned while it waits ends at once and leaves nothing behind', async () => {
  const { engine, observer } = await startEngine();
  const watch = engine.watch(watchRequest({ resource: 'r' }));
  await take(watch, 1);
  const pending = watch.next();
  expect(observer.watcherCount).toBe(1);
  await watch.return?.();
  expect(await pending).toEqual({ value: undefined, done: true });
  expect(observer.watcherCount).toBe(0);
});

it('a watch that is returned before its first item was taken leaves nothing behind', async () => {
  const { engine, observer } = await startEngine();
  const watch = engine.watch(watchRequest());
  await watch.return?.();
  expect(observer.watcherCount).toBe(0);
  expect(await watch.next()).toEqual({ value: undefined, done: true });
});

/** What is held, with its revision, as a client works it out: an event that is not newer than what it has is in it already. */
function heldAfter(items: readonly WatchItem[]): [string, bigint][] {
  const held = new Map<string, bigint>();
  for (const item of items) {
    if (item.kind === 'snapshot') for (const { resource, revision } of item.locks) held.set(resource, revision);
    if (item.kind !== 'event' || item.event.revision <= (held.get(item.event.resource) ?? 0n)) continue;
    if (item.event.type === 'RELEASED') held.delete(item.event.resource);
    else held.set(item.event.resource, item.event.revision);
  }
  return [...held].sort();
}

async function prune(databaseUrl: string, upTo: bigint): Promise<void> {
  await runSql(databaseUrl, 'DELETE FROM lock_events WHERE revision <= $1', [upTo]);
  await runSql(databaseUrl, 'UPDATE lock_clock SET oldest_revision = $1', [upTo]);
}
