import { describe, expect, test } from 'vitest';
import { acquire } from '../../support/commands.js';
import type { LockSeen } from './history.js';
import { LOST, RESOURCE, Sketch, violationOf, type Story, type WrongStory } from './sketch.js';
import { findLateTurn } from './tickets.js';

const WAIT = { id: '', instance: '', waitMs: 500, detectDeadlock: false };

/** Somebody waits for its 500 ms, and gets nothing. */
function timeOut(s: Sketch, owner: string, from: number, holder: LockSeen | null): void {
  s.told({ ...acquire(RESOURCE, owner), wait: WAIT }, [from, from + 502], {
    kind: 'conflict',
    reason: 'WAIT_TIMEOUT',
    current: holder,
  });
}

/** A newcomer is granted at 211 what B stands in line for since 20. */
function overtake(s: Sketch): void {
  const lock = s.acquire('A', [0, 10]);
  s.release(lock, [200, 210], { at: 205 });
  const next = s.acquire('N', [206, 216], { ttlMs: 5_000 });
  timeOut(s, 'B', 20, next);
}

const RIGHT: readonly Story[] = [
  [
    'one is granted the lock when its holder releases it',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.release(lock, [100, 110], { at: 105 });
      s.acquire('B', [20, 120], { at: 105, wait: WAIT });
    },
  ],
  [
    'one waits in vain while the lock is held',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 5_000 });
      timeOut(s, 'B', 20, lock);
    },
  ],
  [
    'what a waiter is granted that has gone is given back',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.release(lock, [100, 110], { at: 105 });
      s.giveBack(s.acquire('B', [20, 60], { at: 105, wait: WAIT, isLost: true }), 107);
      s.acquire('C', [120, 130]);
    },
  ],
  [
    'a newcomer is refused a free lock that is kept for a waiter',
    (s) => {
      s.told({ ...acquire(RESOURCE, 'B'), wait: WAIT }, [0, 10], LOST);
      s.told(acquire(RESOURCE, 'C'), [20, 30], { kind: 'conflict', reason: 'HELD_BY_ANOTHER', current: null });
    },
  ],
  [
    'one that came first is granted the lock, and the other one waits in vain',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.release(lock, [300, 310], { at: 305 });
      const next = s.acquire('B', [20, 320], { at: 305, ttlMs: 5_000, wait: WAIT });
      timeOut(s, 'C', 40, next);
    },
  ],
  [
    'a newcomer gets the lock while the server of one that stands in line is out of reach',
    (s) => {
      overtake(s);
      s.outages.push({ server: 'S', from: 150, to: 300 });
    },
  ],
  [
    'a newcomer gets the lock while all servers are out of reach',
    (s) => {
      overtake(s);
      s.outages.push({ server: null, from: 150, to: 300 });
    },
  ],
];

const WRONG: readonly WrongStory[] = [
  [
    'a lock is granted to a waiter while another one holds it',
    (s) => {
      s.acquire('A', [0, 10]);
      s.acquire('B', [20, 120], { at: 105, wait: WAIT });
    },
    /granted while another owner held it/,
  ],
  [
    'a grant is given back that a waiter was told of',
    (s) => {
      s.giveBack(s.acquire('B', [20, 60], { wait: WAIT }), 107);
    },
    /nobody asked for/,
  ],
  [
    'a grant is given back that nobody had waited for',
    (s) => {
      s.giveBack(s.acquire('B', [20, 60], { isLost: true }), 107);
    },
    /nobody asked for/,
  ],
  [
    'a grant is given back for which its request may come again',
    (s) => {
      s.giveBack(s.acquire('B', [20, 60], { wait: WAIT, requestId: 'one', isLost: true }), 107);
    },
    /nobody asked for/,
  ],
  [
    'the wait of one whose time is up was granted',
    (s) => {
      const lock = s.acquire('B', [0, 502], { wait: WAIT });
      s.calls[0] = { ...s.calls[0]!, told: { kind: 'conflict', reason: 'WAIT_TIMEOUT', current: null } };
      s.release(lock, [600, 610]);
    },
    /nobody asked for/,
  ],
  [
    'a wait ends before its time',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.told({ ...acquire(RESOURCE, 'B'), wait: WAIT }, [20, 420], { kind: 'conflict', reason: 'WAIT_TIMEOUT', current: lock });
    },
    /true at no moment/,
  ],
  [
    'a newcomer is refused a free lock for which nobody stands in line',
    (s) => {
      s.told(acquire(RESOURCE, 'C'), [20, 30], { kind: 'conflict', reason: 'HELD_BY_ANOTHER', current: null });
    },
    /true at no moment/,
  ],
  ['a newcomer gets the lock between two holders', overtake, /newcomer though client stood in line/],
  [
    'a newcomer gets the lock though the server of one that stands in line was out of reach only before, and another one is',
    (s) => {
      overtake(s);
      s.outages.push({ server: 'S', from: 0, to: 10 }, { server: 'other', from: 150, to: 300 });
    },
    /newcomer though client stood in line/,
  ],
  [
    'one that came later is granted the lock first',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.release(lock, [200, 210], { at: 205 });
      const next = s.acquire('N', [100, 216], { at: 206, ttlMs: 5_000, wait: WAIT });
      timeOut(s, 'B', 20, next);
    },
    /ahead of client, who stood in line before/,
  ],
];

test.each(RIGHT)('a history is accepted in which %s', (_title, tell) => {
  expect(violationOf(tell)).toBeNull();
});

describe('a history is rejected in which', () => {
  test.each(WRONG)('%s', (_title, tell, problem) => {
    expect(violationOf(tell)).toMatch(problem);
  });
});

/** Two are granted the lock one after the other, with these tickets. */
function turns(first: bigint, second: bigint): string | undefined {
  const s = new Sketch();
  const lock = s.acquire('A', [0, 50], { wait: WAIT });
  s.release(lock, [60, 70]);
  s.acquire('B', [10, 80], { wait: WAIT });
  const grants = [
    { revision: 1n, ticket: first },
    { revision: 3n, ticket: second },
  ];
  return findLateTurn(grants, s.log)?.problem;
}

test('turns in the order of the tickets are accepted', () => {
  expect(turns(1n, 2n)).toBeUndefined();
});

test('a turn after that of a later ticket is noticed', () => {
  expect(turns(2n, 1n)).toMatch(/after one that came later/);
});
