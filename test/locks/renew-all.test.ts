import { beforeEach, expect, test } from 'vitest';
import { acquire, acquireAll, NOW, renewAll } from '../support/lock-values.js';
import { brief } from './brief.js';
import { MemoryStore } from './memory-store.js';

let store: MemoryStore;

beforeEach(() => {
  store = new MemoryStore();
  store.commit([acquireAll(['a', 'b'], { ttlMs: 1_000 }), acquire({ resource: 'c', owner: 'ben' })]);
  store.now += 600;
});

test('renewal of several locks renews each that it can, and names the others as lost', () => {
  const { outcomes, events } = store.commit([renewAll(['a', 'c', 'd', 'b'], { ttlMs: 5_000 })]);
  expect(outcomes).toEqual([{ kind: 'renewed-all', locks: [store.rows.get('a'), store.rows.get('b')], lost: ['c', 'd'] }]);
  expect(store.rows.get('b')).toMatchObject({ fencingToken: 2n, expiresAt: NOW + 5_600 });
  expect(events.map(brief)).toEqual(['RENEWED a anna', 'RENEWED b anna']);
});

test('renewal of several locks without a TTL uses the one that each was acquired with', () => {
  store.commit([acquire({ resource: 'd', ttlMs: 9_000 })]);
  store.commit([renewAll(['a', 'd'])]);
  expect(store.rows.get('a')).toMatchObject({ expiresAt: NOW + 1_600 });
  expect(store.rows.get('d')).toMatchObject({ expiresAt: NOW + 9_600 });
});

test('renewal of several locks loses those that have expired, and those under another token', () => {
  store.commit([acquire({ resource: 'b', ttlMs: 5_000 })]);
  store.now += 400;
  const locks = [
    { resource: 'a', fencingToken: 1n },
    { resource: 'b', fencingToken: 2n },
  ];
  expect(store.commit([renewAll([], { locks })]).outcomes).toMatchObject([{ locks: [], lost: ['a', 'b'] }]);
});
