import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { ChangePage } from '../../src/engine/log-reads.js';
import { Watcher, type WatcherFeed } from '../../src/engine/watcher.js';
import { watchRequest } from '../support/engine.js';

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
