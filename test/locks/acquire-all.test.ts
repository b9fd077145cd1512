import { beforeEach, describe, expect, test } from 'vitest';
import type { AcquireAllCommand } from '../../src/locks/commands.js';
import { acquire, acquireAll, expire, NOW, release, releaseAll, waiting } from '../support/lock-values.js';
import { brief } from './brief.js';
import { MemoryStore } from './memory-store.js';

let store: MemoryStore;

beforeEach(() => {
  store = new MemoryStore();
});

const single = (owner: string, resource: string) => acquire({ owner, resource, wait: waiting(`${owner} ${resource}`) });

/** Stands in line for all of them, under the name of its owner. */
const group = (owner: string, resources: readonly string[], changes: Partial<AcquireAllCommand> = {}) =>
  acquireAll(resources, { owner, wait: waiting(owner), ...changes });

const inLine = () => store.waiters.map(({ id }) => id);

describe('acquire of several locks', () => {
  test('that are free gets all, with consecutive revisions, in the order of their names', () => {
    const { outcomes, events } = store.commit([acquireAll(['b', 'a'], { ttlMs: 500, requestId: 'r1', metadata: '1' })]);
    expect(events.map(({ revision, type, resource }) => [revision, type, resource])).toEqual([
      [1n, 'ACQUIRED', 'b'],
      [2n, 'ACQUIRED', 'a'],
    ]);
    expect(outcomes).toEqual([{ kind: 'acquired-all', locks: [store.rows.get('b'), store.rows.get('a')] }]);
    expect(store.rows.get('a')).toMatchObject({
      owner: 'anna',
      fencingToken: 2n,
      expiresAt: NOW + 500,
      requestId: 'r1',
      metadata: '1',
    });
  });

  test('of which some are held gets none, names the first in the way and all that are', () => {
    store.commit([acquire({ resource: 'b', owner: 'ben' }), acquire({ resource: 'd', owner: 'dora' })]);
    const { outcomes, events } = store.commit([acquireAll(['a', 'b', 'c', 'd'])]);
    const [b, d] = [store.rows.get('b'), store.rows.get('d')];
    expect(outcomes).toEqual([{ kind: 'conflict', reason: 'HELD_BY_ANOTHER', resource: 'b', current: b, blockedBy: [b, d] }]);
    expect(events).toEqual([]);
  });

  test('of which some are its own takes these again', () => {
    store.commit([acquire({ resource: 'b' })]);
    const { outcomes } = store.commit([acquireAll(['a', 'b'])]);
    expect(outcomes).toMatchObject([
      { kind: 'acquired-all', locks: [{ reacquired: false }, { reacquired: true, fencingToken: 3n }] },
    ]);
  });

  test('of which some are its own, with reacquire: false, gets none', () => {
    store.commit([acquire({ resource: 'b' })]);
    const { outcomes, events } = store.commit([acquireAll(['a', 'b'], { reacquire: false })]);
    expect(outcomes).toMatchObject([{ reason: 'HELD_BY_SELF', resource: 'b', blockedBy: [{ resource: 'b' }] }]);
    expect(events).toEqual([]);
  });

  test('of which one has expired claims it', () => {
    store.commit([acquire({ resource: 'b', owner: 'ben', ttlMs: 100 })]);
    store.now += 100;
    const { events } = store.commit([acquireAll(['a', 'b'])]);
    expect(events.map(brief)).toEqual(['EXPIRED b ben', 'ACQUIRED a anna', 'ACQUIRED b anna']);
  });
});

describe('a repeated acquire of several locks', () => {
  const repeated = (resources: readonly string[]) => acquireAll(resources, { requestId: 'r1' });

  beforeEach(() => store.commit([repeated(['a', 'b'])]));

  test('while all are held answers them as they are', () => {
    const { outcomes, events } = store.commit([repeated(['b', 'a'])]);
    expect(outcomes).toEqual([{ kind: 'acquired-all', locks: [store.rows.get('b'), store.rows.get('a')] }]);
    expect(events).toEqual([]);
  });

  test('after one of them was released is spent, and gets none', () => {
    store.commit([release({ resource: 'b' })]);
    const { outcomes, events } = store.commit([repeated(['a', 'b'])]);
    expect(outcomes).toMatchObject([{ kind: 'conflict', reason: 'REQUEST_SPENT', resource: 'a', blockedBy: [] }]);
    expect(events).toEqual([]);
  });

  test('with one name more is spent, and gets none', () => {
    const { outcomes, events } = store.commit([repeated(['c', 'b'])]);
    expect(outcomes).toMatchObject([{ kind: 'conflict', reason: 'REQUEST_SPENT', resource: 'b' }]);
    expect(events).toEqual([]);
  });

  test('with one name more that is held by another is spent, and does not wait', () => {
    store.commit([acquire({ resource: 'c', owner: 'ben' })]);
    const { outcomes } = store.commit([group('anna', ['c', 'b'], { requestId: 'r1' })]);
    expect(outcomes).toMatchObject([{ reason: 'REQUEST_SPENT', resource: 'b' }]);
  });
});

describe('an acquire of several locks that waits', () => {
  test('holds nothing, and has one ticket in every line', () => {
    store.commit([acquire({ resource: 'b', owner: 'ben' })]);
    const { outcomes, joined, events } = store.commit([group('anna', ['a', 'b'])]);
    expect(outcomes).toMatchObject([{ kind: 'queued', ticket: 1n }]);
    expect(joined).toMatchObject([{ resources: ['a', 'b'] }]);
    expect(events).toEqual([]);
  });

  test('is granted all at once with the last that becomes free', () => {
    store.commit([acquire({ resource: 'a', owner: 'ben' }), acquire({ resource: 'b', owner: 'carl' })]);
    store.commit([group('anna', ['a', 'b'])]);
    expect(store.commit([release({ resource: 'a', owner: 'ben' })]).events.map(brief)).toEqual(['RELEASED a ben']);
    const { events } = store.commit([release({ resource: 'b', owner: 'carl' })]);
    expect(events.map(brief)).toEqual(['RELEASED b carl', 'ACQUIRED a anna for anna', 'ACQUIRED b anna for anna']);
    expect(inLine()).toEqual([]);
  });

  test('keeps what is free already from whoever comes later', () => {
    store.commit([acquire({ resource: 'b', owner: 'ben' }), group('anna', ['a', 'b'])]);
    const { outcomes } = store.commit([acquire({ resource: 'a', owner: 'carl' })]);
    expect(outcomes).toEqual([{ kind: 'conflict', reason: 'HELD_BY_ANOTHER', resource: 'a', current: null }]);
  });

  test('comes after whoever is ahead of it in one of its lines', () => {
    store.commit([acquire({ resource: 'a', owner: 'ben' }), single('carl', 'a'), group('anna', ['a', 'b'])]);
    const { events } = store.commit([release({ resource: 'a', owner: 'ben' })]);
    expect(events.map(brief)).toEqual(['RELEASED a ben', 'ACQUIRED a carl for carl a']);
    expect(store.commit([release({ resource: 'a', owner: 'carl' })]).events.map(brief)).toContain('ACQUIRED b anna for anna');
  });

  test('that leaves lets those behind it have what is free, in each of its lines', () => {
    store.commit([acquire({ resource: 'c', owner: 'ben' }), group('anna', ['a', 'b', 'c'])]);
    store.commit([single('carl', 'a'), single('dora', 'b')]);
    const { ticket = 0n, resources = [] } = store.waiters[0] ?? {};
    const { outcomes, events } = store.commit([{ kind: 'leave', waiterId: 'anna', ticket, resources }]);
    expect(outcomes).toMatchObject([{ kind: 'left', blockedBy: [{ resource: 'c' }] }]);
    expect(events.map(brief)).toEqual(['ACQUIRED a carl for carl a', 'ACQUIRED b dora for dora b']);
  });

  test('whose deadline has passed lets those behind it have what is free, as soon as that is looked at', () => {
    store.commit([acquire({ resource: 'b', owner: 'ben' }), group('anna', ['a', 'b'])]);
    store.commit([acquire({ resource: 'a', owner: 'carl', wait: waiting('carl', { waitMs: 20_000 }) })]);
    store.now += 10_000;
    expect(store.commit([expire('a')]).events.map(brief)).toEqual(['ACQUIRED a carl for carl']);
  });

  test('finds an expiry that nobody recorded yet, and records it before its grant', () => {
    store.commit([acquire({ resource: 'a', owner: 'ben' }), acquire({ resource: 'b', owner: 'carl', ttlMs: 100 })]);
    store.commit([group('anna', ['a', 'b'])]);
    store.now += 100;
    const { events } = store.commit([release({ resource: 'a', owner: 'ben' })]);
    expect(events.map(brief)).toEqual(['RELEASED a ben', 'EXPIRED b carl', 'ACQUIRED a anna for anna', 'ACQUIRED b anna for anna']);
    expect(events.map(({ revision }) => revision)).toEqual([3n, 4n, 5n, 6n]);
  });

  test('hands on what it found expired, where somebody is ahead of it there', () => {
    store.commit([acquire({ resource: 'a', owner: 'ben' }), acquire({ resource: 'b', owner: 'ben', ttlMs: 100 })]);
    store.commit([single('carl', 'b'), group('anna', ['a', 'b'])]);
    store.now += 100;
    const { events } = store.commit([release({ resource: 'a', owner: 'ben' })]);
    expect(events.map(brief)).toEqual(['RELEASED a ben', 'EXPIRED b ben', 'ACQUIRED b carl for carl b']);
  });

  test('of which one is its own with reacquire: false is refused at once, and names that one', () => {
    store.commit([acquire({ resource: 'a', owner: 'ben' }), acquire({ resource: 'b' })]);
    const { outcomes } = store.commit([group('anna', ['a', 'b'], { reacquire: false })]);
    expect(outcomes).toMatchObject([{ reason: 'HELD_BY_SELF', resource: 'b', blockedBy: [{ resource: 'a' }, { resource: 'b' }] }]);
  });
});

describe('an acquire of several locks that waits while its owner holds some of them', () => {
  beforeEach(() => store.commit([acquire({ resource: 'a' }), acquire({ resource: 'b', owner: 'ben' })]));

  test('takes them again with the others', () => {
    store.commit([group('anna', ['a', 'b'])]);
    store.commit([release({ resource: 'b', owner: 'ben' })]);
    expect(store.rows.get('a')).toMatchObject({ owner: 'anna', reacquired: true, fencingToken: 4n });
    expect(store.rows.get('b')).toMatchObject({ owner: 'anna', reacquired: false, fencingToken: 5n });
  });

  test('does not wait for those who stand in line for them', () => {
    store.commit([single('carl', 'a'), group('anna', ['a', 'b'])]);
    const { events } = store.commit([release({ resource: 'b', owner: 'ben' })]);
    expect(events.map(brief)).toEqual(['RELEASED b ben', 'ACQUIRED a anna for anna', 'ACQUIRED b anna for anna']);
    expect(inLine()).toEqual(['carl a']);
  });

  test('waits until they are free again, where its owner took them anew', () => {
    store.commit([group('anna', ['a', 'b']), acquire({ resource: 'a' })]);
    expect(store.commit([release({ resource: 'b', owner: 'ben' })]).events.map(brief)).toEqual(['RELEASED b ben']);
    expect(store.commit([release({ resource: 'a' })]).events.map(brief)).toContain('ACQUIRED b anna for anna');
  });

  test('is in line for them behind the others, where its owner released them', () => {
    store.commit([single('carl', 'a'), group('anna', ['a', 'b']), release({ resource: 'a' })]);
    expect(store.commit([release({ resource: 'b', owner: 'ben' })]).events.map(brief)).toEqual(['RELEASED b ben']);
    expect(store.commit([releaseAll(['a'], { owner: 'carl' })]).events.map(brief)).toContain('ACQUIRED a anna for anna');
  });

  test('holds them on arrival only: a retry does not count what its owner took since', () => {
    store.commit([group('anna', ['a', 'b'], { requestId: 'r1' }), acquire({ resource: 'a' })]);
    store.commit([group('anna', ['b', 'a'], { requestId: 'r1', wait: waiting('retry') })]);
    expect(store.commit([release({ resource: 'b', owner: 'ben' })]).events.map(brief)).toEqual(['RELEASED b ben']);
  });
});

test('a retry of a call that counted as dead gets at once what it was passed over for', () => {
  store.commit([acquire({ resource: 'b', owner: 'ben' }), acquire({ resource: 'c', owner: 'carl' })]);
  store.commit([group('anna', ['a', 'b'], { requestId: 'r1', wait: waiting('first', { instance: 'instance 2' }) })]);
  store.commit([group('dora', ['b', 'c'])]);
  store.deadInstances.add('instance 2');
  store.commit([release({ resource: 'b', owner: 'ben' })]);
  const { outcomes, events } = store.commit([group('anna', ['a', 'b'], { requestId: 'r1' })]);
  expect(outcomes).toMatchObject([{ kind: 'queued', ticket: 1n, replaced: 'first' }]);
  expect(events.map(brief)).toEqual(['ACQUIRED a anna for anna', 'ACQUIRED b anna for anna']);
});

test('an acquire of several locks gets its turn, however many singles keep coming', () => {
  store.commit([acquire({ resource: 'a', owner: 'a0' }), acquire({ resource: 'b', owner: 'b0' }), group('anna', ['a', 'b'])]);
  for (let n = 0; n < 20; n++) {
    store.commit([single(`a${n + 1}`, 'a'), single(`b${n + 1}`, 'b')]);
    store.commit([release({ resource: 'a', owner: `a${n}` })]);
    store.commit([release({ resource: 'b', owner: `b${n}` })]);
  }
  expect(store.log.filter(({ type }) => type === 'ACQUIRED').slice(2, 4)).toMatchObject([{ owner: 'anna' }, { owner: 'anna' }]);
});
