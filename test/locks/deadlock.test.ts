import { beforeEach, describe, expect, test } from 'vitest';
import { MAX_CIRCLE, MAX_LOOKED_AT } from '../../src/locks/deadlock.js';
import { acquire, acquireAll, release, waiting } from '../support/lock-values.js';
import { MemoryStore } from './memory-store.js';

let store: MemoryStore;
let calls = 0;

beforeEach(() => {
  store = new MemoryStore();
});

const hold = (owner: string, resource: string) => store.commit([acquire({ owner, resource })]);
const wait = (owner: string, resource: string) => store.commit([acquire({ owner, resource, wait: waiting(`call ${++calls}`) })]);

/** Waits unless that would close a circle; what was read beforehand is as little as can be. */
const ask = (owner: string, resources: readonly string[]) => {
  const call = waiting(`call ${++calls}`, { detectDeadlock: true });
  const [resource = ''] = resources;
  const command = resources.length > 1 ? acquireAll(resources, { owner, wait: call }) : acquire({ owner, resource, wait: call });
  return store.commit([command], 1).outcomes[0];
};

/** The circle as its owners and what each of them waits for. */
const circle = (...steps: readonly string[]) => ({
  kind: 'conflict',
  reason: 'DEADLOCK',
  circle: steps.map((step) => {
    const [owner, resource] = step.split(' ');
    return { owner, resource };
  }),
});

describe('waiting is refused where it would close a circle', () => {
  test('of two', () => {
    hold('anna', 'a');
    hold('ben', 'b');
    wait('ben', 'a');
    expect(ask('anna', ['b'])).toMatchObject({ ...circle('anna b', 'ben a'), resource: 'b', current: { owner: 'ben' } });
    expect(store.waiters).toHaveLength(1);
  });

  test.each([3, 5, MAX_CIRCLE])('of %d', (size) => {
    for (let n = 0; n < size; n++) hold(`owner${n}`, `r${n}`);
    for (let n = 1; n < size; n++) wait(`owner${n}`, `r${(n + 1) % size}`);
    const steps = Array.from({ length: size }, (_, n) => `owner${n} r${(n + 1) % size}`);
    expect(ask('owner0', ['r1'])).toMatchObject(circle(...steps));
  });

  test('through somebody ahead in line', () => {
    hold('anna', 'a');
    hold('carl', 'c');
    store.commit([acquireAll(['a', 'c'], { owner: 'ben', wait: waiting('ben') })]);
    expect(ask('anna', ['c'])).toMatchObject(circle('anna c', 'ben a'));
  });

  test('through the second of the waiting calls of one owner', () => {
    hold('anna', 'a');
    hold('ben', 'b');
    hold('carl', 'c');
    wait('ben', 'c');
    wait('ben', 'a');
    expect(ask('anna', ['b'])).toMatchObject(circle('anna b', 'ben a'));
  });

  test('through one of the locks of a call for several', () => {
    hold('anna', 'a');
    hold('ben', 'b');
    wait('ben', 'a');
    expect(ask('anna', ['x', 'b'])).toMatchObject({ ...circle('anna b', 'ben a'), blockedBy: [{ resource: 'b' }] });
  });

  test('with somebody who came in the same group', () => {
    hold('anna', 'a');
    hold('ben', 'b');
    const { outcomes } = store.commit([
      acquire({ owner: 'ben', resource: 'a', wait: waiting('ben') }),
      acquire({ owner: 'anna', resource: 'b', wait: waiting('anna', { detectDeadlock: true }) }),
    ]);
    expect(outcomes).toMatchObject([{ kind: 'queued' }, circle('anna b', 'ben a')]);
  });

  test('and that is the shortest there is', () => {
    for (const name of ['anna', 'ben', 'carl']) hold(name, name);
    wait('ben', 'carl');
    wait('carl', 'anna');
    wait('ben', 'anna');
    expect(ask('anna', ['ben'])).toMatchObject(circle('anna ben', 'ben anna'));
  });
});

describe('waiting is not refused', () => {
  const queued = { kind: 'queued' };

  test('where nobody asked for it, though it closes a circle', () => {
    hold('anna', 'a');
    hold('ben', 'b');
    wait('ben', 'a');
    expect(wait('anna', 'b').outcomes).toMatchObject([queued]);
  });

  test('in a chain that does not come back', () => {
    hold('anna', 'a');
    hold('ben', 'b');
    hold('carl', 'c');
    wait('ben', 'c');
    expect(ask('anna', ['b'])).toMatchObject(queued);
  });

  test('among many in one line', () => {
    hold('ben', 'b');
    for (let n = 0; n < 20; n++) wait(`owner${n}`, 'b');
    expect(ask('anna', ['b'])).toMatchObject(queued);
  });

  test('for whoever is ahead of the others in line already', () => {
    hold('ben', 'b');
    wait('anna', 'b');
    wait('carl', 'b');
    expect(ask('anna', ['b'])).toMatchObject(queued);
  });

  test('for what the owner holds itself, though others stand in line for that', () => {
    hold('anna', 'a');
    hold('ben', 'b');
    wait('carl', 'a');
    expect(ask('anna', ['a', 'b'])).toMatchObject(queued);
  });

  test('where the circle would be longer than is looked for', () => {
    const size = MAX_CIRCLE + 1;
    for (let n = 0; n < size; n++) hold(`owner${n}`, `r${n}`);
    for (let n = 1; n < size; n++) wait(`owner${n}`, `r${(n + 1) % size}`);
    expect(ask('owner0', ['r1'])).toMatchObject(queued);
  });

  test('after the lock that closed the circle was released', () => {
    hold('anna', 'a');
    hold('ben', 'b');
    wait('ben', 'a');
    store.commit([release({ owner: 'anna', resource: 'a' })]);
    expect(ask('anna', ['b'])).toMatchObject(queued);
  });

  test('where the lock that would close the circle has expired', () => {
    store.commit([acquire({ owner: 'anna', resource: 'a', ttlMs: 100 })]);
    hold('ben', 'b');
    wait('ben', 'a');
    store.now += 100;
    expect(ask('anna', ['b'])).toMatchObject(queued);
  });

  test('where whoever closed the circle waits no more', () => {
    hold('anna', 'a');
    hold('ben', 'b');
    wait('ben', 'a');
    store.now += 10_000;
    expect(ask('anna', ['b'])).toMatchObject(queued);
  });

  test('to a retry: its place was judged on its arrival', () => {
    hold('anna', 'a');
    hold('ben', 'b');
    const call = { owner: 'anna', resource: 'b', requestId: 'r1' };
    store.commit([acquire({ ...call, wait: waiting('first', { detectDeadlock: true }) })]);
    wait('ben', 'a');
    const { outcomes } = store.commit([acquire({ ...call, wait: waiting('second', { detectDeadlock: true }) })]);
    expect(outcomes).toMatchObject([{ kind: 'queued', replaced: 'first' }]);
  });

  test('behind more owners than the search looks at', () => {
    hold('anna', 'a');
    hold('ben', 'b');
    const ahead = Array.from({ length: MAX_LOOKED_AT + 10 }, (_, n) => `owner${n}`);
    store.commit(ahead.map((owner) => acquire({ owner, resource: 'b', wait: waiting(owner) })));
    wait(ahead.at(-1) ?? '', 'a');
    expect(ask('anna', ['b'])).toMatchObject(queued);
    wait(ahead[0] ?? '', 'a');
    expect(ask('anna', ['b'])).toMatchObject(circle('anna b', 'owner0 a'));
  });
});
