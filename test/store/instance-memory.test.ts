import { describe, expect, test } from 'vitest';
import type { Command } from '../../src/locks/commands.js';
import type { LockEvent } from '../../src/locks/events.js';
import { lockOf } from '../../src/locks/lock.js';
import type { Waiter } from '../../src/locks/waiter.js';
import { InstanceMemory, type RememberedState } from '../../src/store/postgresql/instance-memory.js';
import { acquire, release } from '../support/commands.js';

const LATER = Date.now() + 60_000;

function waiter(owner: string, ticket: bigint, rest: Partial<Waiter> = {}): Waiter {
  return {
    ticket,
    id: owner,
    instance: 'one',
    owner,
    resources: ['job'],
    ttlMs: 40_000,
    requestId: null,
    metadata: null,
    ownTokens: [],
    joinedAt: 0,
    deadline: LATER,
    ...rest,
  };
}

/** It had its turn in line for `job`. */
function turnOf(owner: string, revision: bigint): LockEvent {
  const lock = { resource: 'job', owner, fencingToken: revision, acquiredAt: 5, expiresAt: LATER, requestId: null, metadata: null };
  return { ...lock, revision, type: 'ACQUIRED', at: 5, writtenAt: 5, waiterId: owner };
}

/** Of an instance that has just seen the database, in which A holds `job`. */
function fresh(...inLine: readonly Waiter[]): InstanceMemory {
  const memory = new InstanceMemory();
  memory.learn({ logId: 'log', revision: 1n, at: 1 }, new Map([['job', lockOf(turnOf('A', 1n), 30_000)]]));
  const now = performance.now();
  memory.compareClock({ readAt: Date.now(), askedAt: now, answeredAt: now });
  memory.lines.read(['job'], 9n, new Map([['job', { waiters: inLine, isWhole: false }]]));
  return memory;
}

/** What is known for these commands, by the database's clock alone. */
function known(memory: InstanceMemory, ...commands: readonly Command[]): RememberedState | null {
  return memory.for(commands, (clock) => clock);
}

/** The ids of those who are first in line for `job`. */
function lineIn(memory: InstanceMemory): readonly string[] | null {
  const line = known(memory, release('job', 'A'))?.standing?.lines.get('job');
  return line?.waiters.map(({ id }) => id) ?? null;
}

const NOTHING = { outcomes: [], events: [], changedRows: new Map(), joined: [], left: [] };

describe('who is remembered to stand in line', () => {
  test('is whoever was read, but for those whose time is up', () => {
    expect(lineIn(fresh(waiter('B', 1n), waiter('C', 2n, { deadline: 1 }), waiter('D', 3n)))).toEqual(['B', 'D']);
  });

  test('is nobody whose time is up when the group is decided, which may be later than the clock shows', () => {
    const memory = fresh(waiter('B', 1n), waiter('C', 2n, { deadline: LATER + 1 }));
    const byOwnTime = memory.for([release('job', 'A')], () => LATER);
    expect(byOwnTime).toMatchObject({ now: LATER, standing: { lines: new Map([['job', { waiters: [{ id: 'C' }] }]]) } });
    memory.learn({ logId: 'log', revision: 2n, at: LATER }, new Map());
    expect(lineIn(memory)).toEqual(['C']);
  });

  test.each([
    ['another history', { logId: 'other', revision: 5n, at: 5 }],
    ['a history that has begun again', { logId: 'log', revision: 0n, at: 5 }],
  ])('is nobody once the database was seen in %s', (_what, sighting) => {
    const memory = fresh(waiter('B', 1n));
    memory.learn(sighting, new Map([['job', lockOf(turnOf('A', 1n), 30_000)]]));
    expect(known(memory, release('job', 'A'))).toMatchObject({ ticket: 0n, standing: null });
  });

  test('is nobody behind one that waits for others as well', () => {
    expect(lineIn(fresh(waiter('B', 1n), waiter('C', 2n, { resources: ['job', 'other'] }), waiter('D', 3n)))).toEqual(['B']);
  });

  test('is nobody who left, and whoever joined behind all others', () => {
    const memory = fresh();
    memory.lines.read(['job'], 9n, new Map([['job', { waiters: [waiter('B', 1n), waiter('C', 2n)], isWhole: true }]]));
    memory.lines.change(9n, { ...NOTHING, left: [waiter('B', 1n)], joined: [waiter('D', 10n)] });
    expect(lineIn(memory)).toEqual(['C', 'D']);
    expect(known(memory, release('job', 'A'))).toMatchObject({ ticket: 10n });
  });

  test('is nobody who joined behind others that are not known', () => {
    const memory = fresh(waiter('B', 1n));
    memory.lines.change(9n, { ...NOTHING, joined: [waiter('D', 10n)] });
    expect(lineIn(memory)).toEqual(['B']);
  });

  test('is whoever took over a place before those that are known', () => {
    const memory = fresh(waiter('B', 1n), waiter('C', 2n));
    memory.lines.change(9n, { ...NOTHING, left: [waiter('B', 1n)], joined: [waiter('B again', 1n)] });
    expect(lineIn(memory)).toEqual(['B again', 'C']);
  });

  test('is whoever comes after one that had its turn elsewhere, and what that one holds is known', () => {
    const memory = fresh(waiter('B', 1n), waiter('C', 2n), waiter('D', 3n));
    memory.follow(1n, { logId: 'log', revision: 3n, oldestRevision: 0n, through: 3n, events: [turnOf('C', 3n)] });
    expect(lineIn(memory)).toEqual(['D']);
    const { revision, rows } = known(memory, release('job', 'C')) ?? {};
    expect(revision).toBe(3n);
    expect(rows?.get('job')).toMatchObject({ owner: 'C', fencingToken: 3n, ttlMs: 40_000 });
  });

  test('is not known any more, when one had its turn elsewhere that was not', () => {
    const memory = fresh(waiter('B', 1n));
    memory.follow(1n, { logId: 'log', revision: 3n, oldestRevision: 0n, through: 3n, events: [turnOf('D', 3n)] });
    const standing = known(memory, release('job', 'A'))?.standing;
    expect(standing?.lines.get('job')).toEqual({ waiters: [], isWhole: false });
  });

  test('is not touched by a page that leaves out some that were not seen', () => {
    const memory = fresh(waiter('B', 1n), waiter('C', 2n));
    const page = { logId: 'log', oldestRevision: 0n, revision: 5n, through: 5n };
    memory.follow(4n, { ...page, events: [turnOf('C', 5n)] });
    expect(lineIn(memory)).toEqual(['B', 'C']);
    memory.follow(1n, { ...page, events: [turnOf('B', 3n), turnOf('C', 5n)] });
    expect(known(memory, release('job', 'C'))?.revision).toBe(5n);
  });

  test('is not touched by turns of another history, or that were seen before', () => {
    const memory = fresh(waiter('B', 1n));
    const page = { oldestRevision: 0n, revision: 1n, through: 1n, events: [turnOf('B', 1n)] };
    memory.follow(1n, { ...page, logId: 'log' });
    memory.follow(1n, { ...page, logId: 'other', events: [turnOf('B', 3n)] });
    expect(lineIn(memory)).toEqual(['B']);
  });
});

test('of a name for which nobody stands in line, none is told of', () => {
  const memory = fresh();
  memory.lines.read(['job'], 9n, new Map([['job', { waiters: [], isWhole: true }]]));
  expect(known(memory, release('job', 'A'), acquire('free', 'A'))).toMatchObject({ standing: null });
});
