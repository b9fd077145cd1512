import { beforeEach, describe, expect, test } from 'vitest';
import type { AcquireCommand } from '../../src/locks/commands.js';
import { acquire, expire, NOW, release, renew, waiting } from '../support/lock-values.js';
import { brief } from './brief.js';
import { MemoryStore } from './memory-store.js';

let store: MemoryStore;

beforeEach(() => {
  store = new MemoryStore();
  store.commit([acquire({ owner: 'ben', ttlMs: 30_000 })]);
});

/** An acquire of job:1 that stands in line under the name of its owner. */
const wait = (owner: string, changes: Partial<AcquireCommand> = {}) => acquire({ owner, wait: waiting(owner), ...changes });

const leave = (waiterId: string) => {
  const { ticket, resources, owner } = store.waiters.find(({ id }) => id === waiterId) ?? {
    ticket: 1n,
    resources: ['job:1'],
    owner: '',
  };
  return { kind: 'leave' as const, waiterId, ticket, resources, owner };
};

const inLine = () => store.waiters.map(({ id }) => id);
const holder = () => store.rows.get('job:1')?.owner;

describe('an acquire that may wait', () => {
  test('of a held lock stands in line, and holds nothing', () => {
    const { outcomes, events } = store.commit([wait('anna')]);
    expect(outcomes).toEqual([{ kind: 'queued', ticket: 1n, deadline: NOW + 10_000, replaced: null }]);
    expect(events).toEqual([]);
    expect(inLine()).toEqual(['anna']);
    expect(holder()).toBe('ben');
  });

  test('of a free lock gets it at once', () => {
    const { outcomes } = store.commit([wait('anna', { resource: 'job:2' })]);
    expect(outcomes).toMatchObject([{ kind: 'acquired', reacquired: false }]);
    expect(inLine()).toEqual([]);
  });

  test('of the own lock re-acquires it at once', () => {
    expect(store.commit([wait('ben')]).outcomes).toMatchObject([{ kind: 'acquired', reacquired: true }]);
  });

  test('of the own lock with reacquire: false is refused at once', () => {
    expect(store.commit([wait('ben', { reacquire: false })]).outcomes).toMatchObject([
      { kind: 'conflict', reason: 'HELD_BY_SELF' },
    ]);
  });

  test('with a requestId that is spent is refused at once', () => {
    store.commit([acquire({ resource: 'job:2', requestId: 'r1' }), release({ resource: 'job:2' })]);
    store.commit([acquire({ resource: 'job:2', owner: 'ben' })]);
    const { outcomes } = store.commit([wait('anna', { resource: 'job:2', requestId: 'r1' })]);
    expect(outcomes).toMatchObject([{ kind: 'conflict', reason: 'REQUEST_SPENT' }]);
  });
});

describe('a lock that becomes free', () => {
  test('by a release goes to the first in line, in the same group', () => {
    store.commit([wait('anna'), wait('carl')]);
    const { events } = store.commit([release({ owner: 'ben' })]);
    expect(events.map(brief)).toEqual(['RELEASED job:1 ben', 'ACQUIRED job:1 anna for anna']);
    expect(inLine()).toEqual(['carl']);
  });

  test('by its expiry goes to the first in line', () => {
    store.commit([wait('anna', { wait: waiting('anna', { waitMs: 60_000 }) })]);
    store.now += 30_000;
    expect(store.commit([expire('job:1')]).events.map(brief)).toEqual(['EXPIRED job:1 ben', 'ACQUIRED job:1 anna for anna']);
  });

  test('is held from then on, with what the waiting call asked for', () => {
    store.commit([wait('anna', { ttlMs: 700, requestId: 'r1', metadata: '"m"' })]);
    store.now += 5_000;
    const { revision } = store.commit([release({ owner: 'ben' })]).events[1] ?? {};
    expect(store.rows.get('job:1')).toMatchObject({
      owner: 'anna',
      fencingToken: revision,
      acquiredAt: NOW + 5_000,
      expiresAt: NOW + 5_700,
      requestId: 'r1',
      reacquired: false,
      metadata: '"m"',
    });
  });

  test('goes to one after the other in the order in which they came', () => {
    store.commit([wait('anna')]);
    store.commit([wait('dora'), wait('carl')]);
    const owners = ['ben', 'anna', 'dora', 'carl'];
    for (const owner of owners) store.commit([release({ owner })]);
    const acquired = store.log.filter(({ type }) => type === 'ACQUIRED');
    expect(acquired.map(({ owner }) => owner)).toEqual(owners);
    expect(inLine()).toEqual([]);
  });

  test('does not go to a newcomer in the same group', () => {
    store.commit([wait('anna')]);
    const { outcomes } = store.commit([release({ owner: 'ben' }), acquire({ owner: 'carl' })]);
    expect(outcomes[1]).toMatchObject({ kind: 'conflict', reason: 'HELD_BY_ANOTHER', current: { owner: 'anna' } });
  });

  test('does not go to a newcomer before whoever waits, where its expiry is found by the newcomer', () => {
    store.commit([wait('anna', { wait: waiting('anna', { waitMs: 60_000 }) })]);
    store.now += 30_000;
    expect(store.commit([acquire({ owner: 'carl' })]).outcomes).toMatchObject([{ reason: 'HELD_BY_ANOTHER' }]);
    expect(holder()).toBe('anna');
  });

  test('at the deadline of a waiter passes it over', () => {
    store.commit([wait('anna'), wait('carl', { wait: waiting('carl', { waitMs: 10_001 }) })]);
    store.now += 10_000;
    store.commit([release({ owner: 'ben' })]);
    expect(holder()).toBe('carl');
  });

  test('passes over whoever waits on an instance that is dead', () => {
    store.commit([wait('anna', { wait: waiting('anna', { instance: 'instance 2' }) }), wait('carl')]);
    store.deadInstances.add('instance 2');
    store.commit([release({ owner: 'ben' })]);
    expect(holder()).toBe('carl');
  });
});

describe('the holder, while others stand in line', () => {
  beforeEach(() => store.commit([wait('anna')]));

  test('may renew', () => {
    expect(store.commit([renew({ owner: 'ben' })]).outcomes).toMatchObject([{ kind: 'renewed' }]);
  });

  test('may re-acquire: it overtakes nobody', () => {
    expect(store.commit([acquire({ owner: 'ben' })]).outcomes).toMatchObject([{ kind: 'acquired', reacquired: true }]);
  });
});

describe('whoever leaves the line', () => {
  test('gets nothing, and learns what stood in its way', () => {
    store.commit([wait('anna')]);
    const { outcomes } = store.commit([leave('anna'), release({ owner: 'ben' })]);
    expect(outcomes[0]).toMatchObject({ kind: 'left', blockedBy: [{ resource: 'job:1', owner: 'ben' }] });
    expect(inLine()).toEqual([]);
    expect(holder()).toBeUndefined();
  });

  test('after its deadline leaves as well', () => {
    store.commit([wait('anna')]);
    store.now += 10_000;
    expect(store.commit([leave('anna')]).outcomes).toMatchObject([{ kind: 'left' }]);
    expect(inLine()).toEqual([]);
  });

  test('after its turn learns up to which revision it was', () => {
    store.commit([wait('anna')]);
    const gone = leave('anna');
    store.commit([release({ owner: 'ben' })]);
    expect(store.commit([gone]).outcomes).toEqual([{ kind: 'not-in-line', revision: BigInt(store.log.length) }]);
    expect(store.log.at(-1)).toMatchObject({ type: 'ACQUIRED', waiterId: 'anna' });
  });

  test('in the group of its turn learns a revision that includes it', () => {
    store.commit([wait('anna')]);
    const { outcomes, events } = store.commit([release({ owner: 'ben' }), leave('anna')]);
    expect(outcomes[1]).toEqual({ kind: 'not-in-line', revision: events[1]?.revision });
  });

  test('in the group in which it came was never there', () => {
    const { outcomes, joined, left } = store.commit([wait('anna'), leave('anna')]);
    expect(outcomes[1]).toMatchObject({ kind: 'left' });
    expect([joined, left]).toEqual([[], []]);
  });
});

describe('two waiting calls of one owner', () => {
  beforeEach(() => store.commit([wait('anna'), wait('anna', { wait: waiting('anna again') })]));

  test('have two places', () => {
    expect(inLine()).toEqual(['anna', 'anna again']);
  });

  test('get the lock one after the other: the first keeps it until it is released', () => {
    store.commit([release({ owner: 'ben' })]);
    const first = store.rows.get('job:1');
    store.commit([expire('job:1')]);
    expect(store.rows.get('job:1')).toEqual(first);
    expect(store.commit([release()]).events.map(brief)).toEqual(['RELEASED job:1 anna', 'ACQUIRED job:1 anna for anna again']);
  });
});

describe('a retry of a call that stands in line', () => {
  const retry = (id: string, changes: Partial<AcquireCommand> = {}) =>
    wait('anna', { requestId: 'r1', wait: waiting(id), ...changes });

  beforeEach(() => store.commit([retry('first'), wait('carl')]));

  test('takes over its place, with a deadline of its own', () => {
    store.now += 5_000;
    const { outcomes } = store.commit([retry('second')]);
    expect(outcomes).toEqual([{ kind: 'queued', ticket: 1n, deadline: NOW + 15_000, replaced: 'first' }]);
    expect(inLine()).toEqual(['second', 'carl']);
  });

  test('gets the lock in its stead', () => {
    store.commit([retry('second')]);
    expect(store.commit([release({ owner: 'ben' })]).events[1]).toMatchObject({ owner: 'anna', waiterId: 'second' });
  });

  test('may be retried in the same group', () => {
    const { outcomes, joined } = store.commit([retry('second'), retry('third')]);
    expect(outcomes).toMatchObject([{ replaced: 'first' }, { replaced: 'second' }]);
    expect(joined.map(({ id }) => id)).toEqual(['third']);
  });

  test('does not touch what another call of its owner got meanwhile', () => {
    store.commit([wait('anna', { wait: waiting('other') }), retry('late', { requestId: 'r2' })]);
    store.commit([release({ owner: 'ben' }), release(), release({ owner: 'carl' })]);
    const held = store.rows.get('job:1');
    expect(held).toMatchObject({ owner: 'anna', requestId: null });
    expect(store.commit([retry('later', { requestId: 'r2' })]).outcomes).toMatchObject([{ kind: 'queued', replaced: 'late' }]);
    expect(store.rows.get('job:1')).toEqual(held);
  });

  test('after its turn gets the lock that it got', () => {
    store.commit([release({ owner: 'ben' })]);
    const lock = store.rows.get('job:1');
    expect(store.commit([retry('second')]).outcomes).toEqual([{ kind: 'acquired', lock, reacquired: false }]);
  });

  test('whose instance is dead keeps the place', () => {
    store.deadInstances.add('instance 1');
    const { outcomes } = store.commit([retry('second', { wait: waiting('second', { instance: 'instance 2' }) })]);
    expect(outcomes).toMatchObject([{ ticket: 1n, replaced: 'first' }]);
  });

  test.each([
    ['another owner', { owner: 'dora' }],
    ['another requestId', { requestId: 'r2' }],
    ['no requestId', { requestId: null }],
  ])('by %s has a place of its own', (_, changes) => {
    expect(store.commit([retry('second', changes)]).outcomes).toMatchObject([{ ticket: 3n, replaced: null }]);
  });

  test('is asked for with the same id is answered with the place that it has', () => {
    store.now += 1_000;
    const { outcomes, joined, left } = store.commit([retry('first')]);
    expect(outcomes).toEqual([{ kind: 'queued', ticket: 1n, deadline: NOW + 10_000, replaced: null }]);
    expect([joined, left]).toEqual([[], []]);
  });
});
