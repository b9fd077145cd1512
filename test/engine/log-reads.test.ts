import { expect, test, vi } from 'vitest';
import { LogReads } from '../../src/engine/log-reads.js';
import type { LockStore, LogPage } from '../../src/store/lock-store.js';

const ALL = { resource: null, prefix: null, owner: null };

/** A log of so many events, which counts how often it is read. */
function logOf(length: number) {
  const readLog = vi.fn((after: bigint, limit: number): Promise<LogPage> => {
    const count = Math.min(limit, length - Number(after));
    const events = Array.from({ length: count }, (_, i) => ({ revision: after + BigInt(i) + 1n })) as unknown as LogPage['events'];
    const through = count === limit ? after + BigInt(limit) : BigInt(length);
    return Promise.resolve({ logId: 'log', revision: BigInt(length), oldestRevision: 0n, events, through });
  });
  return { readLog, log: new LogReads({ readLog } as unknown as LockStore) };
}

test('those who ask the same of the same place share one read and its changes', async () => {
  const { log, readLog } = logOf(10_000);
  const [first, second] = await Promise.all([log.read(256n, ALL), log.read(256n, ALL)]);
  expect(first.changes).toBe(second.changes);
  expect(await log.read(256n, ALL)).toBe(first);
  expect(readLog).toHaveBeenCalledOnce();
});

test('those who ask something else, or of another place, do not', async () => {
  const { log, readLog } = logOf(10_000);
  const selectors = [ALL, { ...ALL, resource: 'a' }, { ...ALL, prefix: 'a' }, { ...ALL, owner: 'a' }];
  for (const selector of selectors) await log.read(0n, selector);
  await log.read(1n, ALL);
  expect(readLog).toHaveBeenCalledTimes(5);
});

test('a page that reaches the end of the log is read again, as the log may have grown', async () => {
  const { log, readLog } = logOf(100);
  expect(await log.read(0n, ALL)).toMatchObject({ through: 100n, changes: { length: 100 } });
  await log.read(0n, ALL);
  expect(readLog).toHaveBeenCalledTimes(2);
});

test('a read that failed is tried again', async () => {
  const { log, readLog } = logOf(10_000);
  readLog.mockRejectedValueOnce(new Error('gone'));
  await expect(log.read(0n, ALL)).rejects.toThrow('gone');
  expect((await log.read(0n, ALL)).changes).not.toHaveLength(0);
});

test('those who start from different places come to the same one, and miss nothing on the way', async () => {
  const { log } = logOf(10_000);
  const ends = new Set<bigint>();
  for (const start of [0n, 1n, 100n, 255n]) {
    let at = start;
    const revisions: bigint[] = [];
    while (at < 1_000n) {
      const { changes, through } = await log.read(at, ALL);
      revisions.push(...changes.map(({ event }) => event.revision));
      expect(revisions.at(-1)).toBe(through);
      at = through;
    }
    expect(revisions).toEqual(Array.from({ length: revisions.length }, (_, i) => start + BigInt(i) + 1n));
    ends.add(at);
  }
  expect(ends.size).toBe(1);
});
