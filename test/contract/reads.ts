import { expect, it } from 'vitest';
import type { LockStore } from '../../src/store/lock-store.js';
import { SEGMENT_REVISIONS } from '../../src/store/log-segments.js';
import { acquire, release } from '../support/commands.js';
import { acquired } from './decisions.js';
import { everything, type OpenFixture } from './store-fixture.js';

/** How a store reads rows and log, whatever its database. */
export function describeReads(openFixture: OpenFixture): void {
  it('a prefix admits exactly the names that begin with it, in rows and in the log', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    const names = ['a_b/1', 'aXb/1', '100%/x', '100a/x', 'c\\d/1', 'cXd/1', 'A_B/1', '\u{10FFFF}', '\u{10FFFF}x'];
    await store.commit(names.map((name) => acquire(name, 'o')));
    for (const prefix of ['a_b/', '100%', '%', '_', 'c\\', '', 'a', '\u{10FFFF}']) {
      const expected = names.filter((name) => name.startsWith(prefix));
      const selector = { ...everything, prefix };
      const rows = await store.readLocks(selector, null, 100, time.wall);
      expect(rows.map(({ resource }) => resource).sort(), prefix).toEqual([...expected].sort());
      const { events } = await store.readLog(0n, 100, selector);
      expect(
        events.map(({ resource }) => resource),
        prefix,
      ).toEqual(expected);
    }
  });

  it('rows come in code point order, page by page, also where UTF-16 order differs', async () => {
    const { open, time } = await openFixture();
    const store = await open();
    const names = ['\u{1F600}', '\uFFFD', 'Z', 'a', 'ä', '\u{10000}'];
    await store.commit(names.map((name) => acquire(name, 'o')));
    const pages = await pagesOf((after) => store.readLocks(everything, after, 2, time.wall));
    expect(pages.map(({ resource }) => resource)).toEqual(['Z', 'a', 'ä', '\uFFFD', '\u{10000}', '\u{1F600}']);
  });

  it('a narrow page of the log crosses segments, says how far it looked, and never skips', async () => {
    const { open, setRevision } = await openFixture();
    const store = await open();
    const at = [5n, SEGMENT_REVISIONS - 3n, SEGMENT_REVISIONS, 40n * SEGMENT_REVISIONS, 100n * SEGMENT_REVISIONS + 7n];
    for (const revision of at) {
      await setRevision(revision - 1n);
      await acquired(store, `wanted:${revision}`, 'o');
      await acquired(store, `other:${revision}`, 'p');
    }
    for (const selector of [
      { ...everything, prefix: 'wanted:' },
      { ...everything, owner: 'o' },
    ]) {
      expect(await revisionsOf(store, selector)).toEqual(at);
    }
    expect(await revisionsOf(store, { ...everything, resource: `wanted:${at[3]!}` })).toEqual([at[3]]);
    expect(await revisionsOf(store, { ...everything, resource: 'nothing' })).toEqual([]);
  });

  it('a page of the log never says that it looked further than the log goes, however far that is', async () => {
    const { open, setRevision } = await openFixture();
    const store = await open();
    for (const segments of [1n, 31n, 32n, 33n, 34n, 64n, 65n]) {
      await setRevision(segments * SEGMENT_REVISIONS + 5n);
      for (let after = 0n; ;) {
        const page = await store.readLog(after, 10, { ...everything, resource: 'nothing' });
        expect(page.through).toBeGreaterThan(after);
        expect(page.through).toBeLessThanOrEqual(page.revision);
        if (page.through === page.revision) break;
        after = page.through;
      }
    }
  });

  it('an instance sees what another one committed, and is woken for it', async () => {
    const { open } = await openFixture();
    const [first, second] = [await open(), await open()];
    const woken = new Promise<void>((resolve) => {
      second.onGrowth(() => resolve());
    });
    await first.commit([acquire('r', 'a'), release('r', 'a')]);
    await woken;
    expect((await second.readLog(0n, 10, everything)).events).toHaveLength(2);
    expect(await second.head()).toEqual(await first.head());
  });
}

async function pagesOf<T extends { resource: string }>(read: (after: string | null) => Promise<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for (;;) {
    const page = await read(all.at(-1)?.resource ?? null);
    if (page.length === 0) return all;
    all.push(...page);
  }
}

async function revisionsOf(store: LockStore, selector: Parameters<LockStore['readLog']>[2]): Promise<bigint[]> {
  const found: bigint[] = [];
  for (let after = 0n; ;) {
    const page = await store.readLog(after, 2, selector);
    found.push(...page.events.map(({ revision }) => revision));
    if (page.through >= page.revision) return found;
    expect(page.through).toBeGreaterThan(after);
    after = page.through;
  }
}
