import { beforeEach, expect, test } from 'vitest';
import { acquire, acquireAll, NOW, releaseAll, waiting } from '../support/lock-values.js';
import { brief } from './brief.js';
import { MemoryStore } from './memory-store.js';

let store: MemoryStore;

beforeEach(() => {
  store = new MemoryStore();
  store.commit([acquireAll(['a', 'b']), acquire({ resource: 'c', owner: 'ben' })]);
});

test('release of several locks releases each that it can, and names the others', () => {
  const { outcomes, events } = store.commit([releaseAll(['a', 'c', 'd', 'b'])]);
  expect(outcomes).toEqual([
    {
      kind: 'released-all',
      released: [
        { kind: 'released', resource: 'a', fencingToken: 1n, releasedAt: NOW, revision: 4n },
        { kind: 'released', resource: 'b', fencingToken: 2n, releasedAt: NOW, revision: 5n },
      ],
      notHeld: ['c', 'd'],
    },
  ]);
  expect(events.map(brief)).toEqual(['RELEASED a anna', 'RELEASED b anna']);
});

test('release of several locks leaves alone what is held under another token', () => {
  const locks = [
    { resource: 'a', fencingToken: 1n },
    { resource: 'b', fencingToken: 1n },
  ];
  const { outcomes } = store.commit([releaseAll([], { locks })]);
  expect(outcomes).toMatchObject([{ released: [{ resource: 'a' }], notHeld: ['b'] }]);
});

test('release of several locks, repeated with their tokens, answers the same again', () => {
  const locks = [
    { resource: 'a', fencingToken: 1n },
    { resource: 'b', fencingToken: 2n },
  ];
  const first = store.commit([releaseAll([], { locks })]);
  const second = store.commit([acquire({ resource: 'a', owner: 'ben' }), releaseAll([], { locks })]);
  expect(second.outcomes[1]).toEqual(first.outcomes[0]);
  expect(store.rows.get('a')).toMatchObject({ owner: 'ben' });
});

test('release of several locks hands each on before the next is released', () => {
  store.commit([acquire({ resource: 'a', owner: 'carl', wait: waiting('carl') })]);
  store.commit([acquireAll(['a', 'b'], { owner: 'dora', wait: waiting('dora') })]);
  const { events } = store.commit([releaseAll(['a', 'b'])]);
  expect(events.map(brief)).toEqual(['RELEASED a anna', 'ACQUIRED a carl for carl', 'RELEASED b anna']);
});

test('release of no locks answers that there are none', () => {
  expect(store.commit([releaseAll([])]).outcomes).toEqual([{ kind: 'released-all', released: [], notHeld: [] }]);
});
