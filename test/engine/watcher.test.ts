import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { ChangePage } from '../../src/engine/log-reads.js';
import type { PartPlace, SnapshotOf, SnapshotPart } from '../../src/engine/snapshot-reads.js';
import type { Change } from '../../src/engine/watch.js';
import { Watcher, type WatcherFeed } from '../../src/engine/watcher.js';
import { watchRequest } from '../support/engine.js';
import { stillReferredTo } from '../support/heap.js';
import { lock, lockEvent } from '../support/lock-values.js';

const HEAD = { logId: 'log', revision: 1_000_000n, oldestRevision: 0n };

test('a watch that is returned while it reads on and on, and finds nothing to tell, reads no more', async () => {
  const read = vi.fn(async (after: bigint): Promise<ChangePage> => {
    await nextTurn();
    return { ...HEAD, changes: [], through: after + 1n };
  });
  const remove = vi.fn();
  const store = { head: () => Promise.resolve(HEAD) };
  const watcher = new Watcher(
    { ...HEAD, store, log: { read }, bookmarkMs: 1_000, bookmark: vi.fn(), remove } as unknown as WatcherFeed,
    watchRequest({ after: 0n }),
    null,
  );
  const pending = watcher.next();
  await vi.waitFor(() => expect(read.mock.calls.length).toBeGreaterThan(3));
  await watcher.return();
  expect(await pending).toEqual({ done: true, value: undefined });
  expect(remove).toHaveBeenCalledWith(watcher);
  const reads = read.mock.calls.length;
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  expect(read).toHaveBeenCalledTimes(reads);
});

test('a watch that is behind holds on to nothing of what it has told', async () => {
  const page = (after: bigint): ChangePage => {
    const changes = [1n, 2n, 3n, 4n].map((n): Change => ({ kind: 'event', event: lockEvent({ revision: after + n }) }));
    return { ...HEAD, changes, through: after + 4n };
  };
  const store = { head: () => Promise.resolve(HEAD) };
  const log = { read: (after: bigint) => Promise.resolve(page(after)) };
  const watcher = new Watcher(
    { ...HEAD, store, log, bookmarkMs: 1_000, bookmark: vi.fn(), remove: vi.fn() } as unknown as WatcherFeed,
    watchRequest({ after: 0n }),
    null,
  );
  const told: WeakRef<object>[] = [];
  const takeNext = () => watcher.next().then(({ value }) => told.push(new WeakRef(value!)));
  for (let n = 0; n < 6; n++) await takeNext();
  await nextTurn();
  expect(stillReferredTo(told)).toEqual([]);
  expect((await watcher.next()).value).toMatchObject({ event: { revision: 7n } });
  await watcher.return();
});

test('a watch holds on to no part of a snapshot that it has told', async () => {
  const read = ({ logId, revision, reason }: SnapshotOf, { part }: PartPlace): Promise<SnapshotPart> => {
    const locks = [lock({ resource: `r:${part}` })];
    const next = part === 4 ? null : { part: part + 1, after: null, limit: 1 };
    return Promise.resolve({ snapshot: { kind: 'snapshot', logId, revision, reason, part, complete: next === null, locks }, next });
  };
  const feed = { ...HEAD, store: { head: () => Promise.resolve(HEAD) }, snapshots: { read }, bookmarkMs: 1_000 };
  const watcher = new Watcher(
    { ...feed, bookmark: vi.fn(), remove: vi.fn() } as unknown as WatcherFeed,
    watchRequest({ after: HEAD.revision + 1n }),
    null,
  );
  const told: WeakRef<object>[] = [];
  const takeNext = () => watcher.next().then(({ value }) => told.push(new WeakRef(value!)));
  for (let part = 1; part <= 3; part++) await takeNext();
  await nextTurn();
  expect(stillReferredTo(told)).toEqual([]);
  expect((await watcher.next()).value).toMatchObject({ reason: 'RESET', part: 4, complete: true });
  await watcher.return();
});
