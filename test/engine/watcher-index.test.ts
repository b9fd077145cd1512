import { expect, test } from 'vitest';
import { WatcherIndex } from '../../src/engine/watcher-index.js';
import type { Change } from '../../src/engine/watch.js';
import type { Watcher } from '../../src/engine/watcher.js';
import { watchRequest } from '../support/engine.js';

type Filter = Parameters<typeof watchRequest>[0];

/** Who is offered a change of that resource and owner, by their filters. */
function fixture(filters: readonly NonNullable<Filter>[]) {
  let offered: string[] = [];
  const index = new WatcherIndex();
  const watchers = filters.map((filter) => {
    const watcher = { request: watchRequest(filter), offer: () => offered.push(JSON.stringify(filter)) };
    return watcher as unknown as Watcher;
  });
  for (const watcher of watchers) index.add(watcher);
  const offer = (resource: string, owner = 'o') => {
    offered = [];
    index.offer({ kind: 'event', event: { resource, owner } } as Change);
    return offered;
  };
  return { index, watchers, offer };
}

test.each([
  ['its resource', { resource: 'job:1' }, 'job:1', 'job:10'],
  ['a prefix of it', { prefix: 'job:' }, 'job:1', 'job'],
  ['a prefix with characters of two units', { prefix: '😀😀' }, '😀😀x', '😀x'],
  ['the whole name as a prefix', { prefix: 'job:1' }, 'job:1', 'job:2'],
])('a watcher of %s is offered the change, and of another name it is not', (_, filter, name, other) => {
  const { offer } = fixture([filter]);
  expect(offer(name)).toHaveLength(1);
  expect(offer(other)).toEqual([]);
});

test.each([[{}], [{ prefix: '' }]])('a watcher of all, %j, is offered every change', (filter) => {
  expect(fixture([filter]).offer('x')).toHaveLength(1);
});

test.each([[{ owner: 'A' }], [{ owner: 'A', prefix: 'job:' }], [{ owner: 'A', prefix: '' }]])(
  'a watcher of an owner, %j, is not looked at for others',
  (filter) => {
    const { offer } = fixture([filter]);
    expect(offer('job:1', 'A')).toHaveLength(1);
    expect(offer('job:1', 'B')).toEqual([]);
  },
);

test('a change is offered once to each watcher, whatever else the others ask for', () => {
  const filters = [
    {},
    { prefix: 'j' },
    { prefix: 'jo' },
    { prefix: 'jo' },
    { resource: 'job' },
    { owner: 'o' },
    { resource: 'job', owner: 'o' },
  ];
  expect(fixture(filters).offer('job').toSorted()).toEqual(filters.map((filter) => JSON.stringify(filter)).toSorted());
});

test('a watcher that was removed is offered nothing, and those beside it are', () => {
  const { index, watchers, offer } = fixture([
    { prefix: 'a' },
    { prefix: 'a' },
    { prefix: 'b' },
    { owner: 'o' },
    { resource: 'a' },
  ]);
  for (const removed of [0, 3, 4]) index.remove(watchers[removed]!);
  expect(offer('a')).toEqual(['{"prefix":"a"}']);
  index.remove(watchers[1]!);
  // Once more does no harm.
  index.remove(watchers[1]!);
  expect(offer('a')).toEqual([]);
  expect(offer('b')).toHaveLength(1);
});
