import { expect, it } from 'vitest';
import { causeOf, type LastKnown } from '../../src/engine/lost-cause.js';
import { StoreUnavailable, type LockStore } from '../../src/store/lock-store.js';
import { fixtureOn, RETRY_WINDOW_MS, type StoreFixture } from '../contract/store-fixture.js';
import { acquire, release, renew } from '../support/commands.js';
import { createDatabase } from '../support/database.js';

const TTL_MS = 1000;
/** Smaller than any log here. */
const PAGE_EVENTS = 2;

const ofA: LastKnown = { resource: 'r', owner: 'a', fencingToken: 1n, revision: 1n };

async function startStore(): Promise<StoreFixture & { store: LockStore }> {
  const fixture = fixtureOn(await createDatabase());
  const store = await fixture.open();
  await store.commit([acquire('r', 'a', { ttlMs: TTL_MS })]);
  return { ...fixture, store };
}

function told(store: LockStore, lost: Partial<LastKnown> = {}): Promise<string> {
  return causeOf({ ...ofA, ...lost }, 'SHUTDOWN', (after, selector) => store.readLog(after, PAGE_EVENTS, selector));
}

type Fixture = Awaited<ReturnType<typeof startStore>>;
type End = readonly [how: string, cause: string, end: (fixture: Fixture) => Promise<unknown>];

it.each<End>([
  ['was released', 'RELEASED', ({ store }) => store.commit([release('r', 'a')])],
  ['was released and is held by another owner', 'RELEASED', ({ store }) => store.commit([release('r', 'a'), acquire('r', 'b')])],
  ['was released and acquired anew', 'RELEASED', ({ store }) => store.commit([release('r', 'a'), acquire('r', 'a')])],
  ['was acquired anew', 'SUPERSEDED', ({ store }) => store.commit([acquire('r', 'a')])],
  ['was acquired anew and released', 'SUPERSEDED', ({ store }) => store.commit([acquire('r', 'a'), release('r', 'a')])],
  [
    'expired, was acquired by another owner and released',
    'EXPIRED',
    async ({ store, time }) => {
      time.advance(TTL_MS);
      await store.commit([acquire('r', 'b'), release('r', 'b')]);
    },
  ],
  [
    'expired and was acquired anew',
    'EXPIRED',
    async ({ store, time }) => {
      time.advance(TTL_MS);
      await store.commit([acquire('r', 'a')]);
    },
  ],
  [
    'was renewed many times, beside others of its owner, and released',
    'RELEASED',
    async ({ store }) => {
      for (let i = 0; i < 5; i++) await store.commit([renew('r', 'a'), acquire(`other:${i}`, 'a')]);
      await store.commit([release('r', 'a'), acquire('r', 'b')]);
    },
  ],
])('a lock that %s is lost as %s', async (_how, cause, end) => {
  const fixture = await startStore();
  await end(fixture);
  expect(await told(fixture.store)).toBe(cause);
});

it('a lock of which a later change is known is looked for from there on', async () => {
  const { store } = await startStore();
  await store.commit([renew('r', 'a'), release('r', 'a')]);
  expect(await told(store, { revision: 2n })).toBe('RELEASED');
});

it.each<readonly [what: string, lost: Partial<LastKnown>]>([
  ['is held', {}],
  ['was acquired under another name', { resource: 'other' }],
  ['was acquired by another owner', { owner: 'b' }],
  ['was never acquired', { fencingToken: 2n, revision: 2n }],
  ['is said to be older than the log', { fencingToken: 0n, revision: 0n }],
  ['is said to be newer than the log', { fencingToken: 1_000_000n, revision: 1_000_000n }],
])('of a lock that %s the guess is told', async (_what, lost) => {
  const { store } = await startStore();
  await store.commit([acquire('q', 'b'), release('q', 'b')]);
  expect(await told(store, lost)).toBe('SHUTDOWN');
});

it('of a lock whose acquisition is not kept in the log any more the guess is told', async () => {
  const { store, time } = await startStore();
  await store.commit([release('r', 'a'), acquire('r', 'b')]);
  time.advance(RETRY_WINDOW_MS + 1);
  while (await store.prune({ eventAgeMs: 1e12, eventRows: 2, expiredLockAgeMs: 1e12 }));
  expect((await store.head()).oldestRevision).toBe(1n);
  expect(await told(store)).toBe('SHUTDOWN');
});

it('of a lock whose log can not be read the guess is told', async () => {
  const readLog = () => Promise.reject(new StoreUnavailable('The database could not be read', false));
  expect(await causeOf(ofA, 'EXPIRED', readLog)).toBe('EXPIRED');
});
