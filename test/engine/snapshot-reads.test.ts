import { expect, test, vi } from 'vitest';
import { FIRST_PART, SnapshotReads, type PartPlace, type SnapshotOf } from '../../src/engine/snapshot-reads.js';
import type { Lock } from '../../src/locks/lock.js';
import type { LockSelector, LockStore } from '../../src/store/lock-store.js';
import { lock } from '../support/lock-values.js';

const ALL: LockSelector = { resource: null, prefix: null, owner: null };
const OF: SnapshotOf = { logId: 'log', revision: 9n, reason: 'STARTED', selector: ALL };

/** Parts of so many locks with that much metadata each. */
function fixture(count: number, metadata: number) {
  const locks = Array.from({ length: count }, (_, n) =>
    lock({ resource: `r:${String(n).padStart(4, '0')}`, owner: 'o', metadata: 'x'.repeat(metadata) }),
  );
  const readLocks = vi.fn((_selector: LockSelector, after: string | null, limit: number): Promise<readonly Lock[]> =>
    Promise.resolve(locks.filter(({ resource }) => resource > (after ?? '')).slice(0, limit)),
  );
  const reads = new SnapshotReads({ readLocks, now: () => Promise.resolve(0) } as unknown as LockStore);
  const readAll = async () => {
    const parts = [];
    for (let place: PartPlace | null = FIRST_PART; place !== null;) {
      const { snapshot, next }: Awaited<ReturnType<typeof reads.read>> = await reads.read(OF, place);
      parts.push(snapshot);
      place = next;
    }
    return parts;
  };
  return { locks, reads, readLocks, readAll };
}

test.each([
  ['small', 1_100, 10, [500, 500, 100]],
  ['large', 200, 4_000, [66, 66, 66, 2]],
  ['that fill a part exactly', 500, 0, [500, 0]],
])(
  'locks that are %s come in parts of a bounded size, each lock once, the last one complete',
  async (_, count, metadata, sizes) => {
    const { locks, readAll } = fixture(count, metadata);
    const parts = await readAll();
    expect(parts.map((part) => part.locks.length)).toEqual(sizes);
    expect(parts.flatMap((part) => part.locks)).toEqual(locks);
    expect(parts.map(({ part, complete }) => [part, complete])).toEqual(sizes.map((_size, n) => [n + 1, n + 1 === sizes.length]));
  },
);

test('where locks are large, few more are read than are told', async () => {
  const { readAll, readLocks } = fixture(200, 4_000);
  await readAll();
  expect(readLocks.mock.calls.map(([, , limit]) => limit)).toEqual([500, 66, 132, 66]);
});

test('those who ask for the same part of the same snapshot at about the same time get the same one, read once', async () => {
  const { reads, readLocks } = fixture(3, 0);
  const [first, second] = [reads.read(OF, FIRST_PART), reads.read(OF, FIRST_PART)];
  expect((await first).snapshot).toBe((await second).snapshot);
  expect((await reads.read(OF, FIRST_PART)).snapshot).toBe((await first).snapshot);
  expect(readLocks).toHaveBeenCalledOnce();
});

test.each([
  ['a newer revision', { revision: 10n }],
  ['another history', { logId: 'another' }],
  ['another reason', { reason: 'GAP' as const }],
  ['another prefix', { selector: { ...ALL, prefix: 'r:' } }],
])('a snapshot of %s is read anew', async (_, other) => {
  const { reads, readLocks } = fixture(3, 0);
  await reads.read(OF, FIRST_PART);
  const { revision, reason, logId } = { ...OF, ...other };
  expect((await reads.read({ ...OF, ...other }, FIRST_PART)).snapshot).toMatchObject({ revision, reason, logId });
  expect(readLocks).toHaveBeenCalledTimes(2);
});

test('a read that failed is tried again by the next who asks', async () => {
  const { reads, readLocks } = fixture(3, 0);
  readLocks.mockRejectedValueOnce(new Error('no answer'));
  await expect(reads.read(OF, FIRST_PART)).rejects.toThrow('no answer');
  expect((await reads.read(OF, FIRST_PART)).snapshot.locks).toHaveLength(3);
});
