import { describe, expect, test } from 'vitest';
import type { HoldCall, HoldTold, LockSeen } from './history.js';
import { acquireAll, release, renew } from '../../support/commands.js';
import { LOST, RESOURCE, violationOf, type Sketch, type Story, type WrongStory } from './sketch.js';

const TTL_MS = 300;

/** Two locks that are acquired at once, or not quite. */
function acquireTwo(s: Sketch, { at = [5, 5], between = 0 } = {}): [LockSeen, LockSeen] {
  const one = s.change('ACQUIRED', lockOf(s, '"two"', at[0] ?? 0), at[0] ?? 0);
  for (let others = 0; others < between; others++) s.acquire('C', [0, 10], { at: 5, resource: 'between' });
  const two = s.change('ACQUIRED', lockOf(s, '"two"', at[1] ?? 0), at[1] ?? 0, 'other');
  const locks = new Map([
    [RESOURCE, one],
    ['other', two],
  ]);
  const span = { from: 0, to: 20 };
  const question = acquireAll([RESOURCE, 'other'], 'A', { ttlMs: 1_000, metadata: '"two"' });
  s.groups.push({ id: 0, client: 'client', server: 'S', question, told: { kind: 'acquired-all', locks }, span, wall: span });
  return [one, two];
}

function lockOf(s: Sketch, metadata: string, at: number): LockSeen {
  const revision = s.nextRevision();
  return { owner: 'A', fencingToken: revision, revision, acquiredAt: at, expiresAt: at + 1_000, metadata };
}

/** A subscription that was granted the lock at 10, and was told so at 20. */
function hold(
  s: Sketch,
  end: HoldCall['end'] = 'cut',
  endsAt = 1_000,
): { lock: LockSeen; tell: (told: HoldTold, at: number) => void } {
  const lock = s.change('ACQUIRED', { ...lockOf(s, '"hold"', 10), expiresAt: 10 + TTL_MS }, 10);
  const updates = [{ told: { kind: 'acquired', lock, reacquired: false } as HoldTold, at: 20, wall: 20 }];
  const question = {
    kind: 'hold',
    resource: RESOURCE,
    owner: 'A',
    ttlMs: TTL_MS,
    waitMs: null,
    fencingToken: null,
    metadata: '"hold"',
  } as const;
  const span = { from: 0, to: endsAt };
  s.holds.push({ id: 0, client: 'client', server: 'S', question, updates, end, span, wall: span });
  return { lock, tell: (told, at) => void updates.push({ told, at, wall: at }) };
}

function renewed(s: Sketch, lock: LockSeen, at: number): LockSeen {
  return s.change('RENEWED', { ...lock, revision: s.nextRevision(), expiresAt: at + TTL_MS }, at);
}

/** It was lost to another acquisition, and is said to be released when that one was. */
function loseAsReleased(s: Sketch): void {
  const { lock, tell } = hold(s, 'over', 200);
  s.release(s.acquire('A', [140, 150], { reacquired: true }), [160, 170]);
  tell({ kind: 'lost', fencingToken: lock.fencingToken, cause: 'RELEASED' }, 180);
}

const RIGHT: readonly Story[] = [
  ['two locks are acquired at once', (s) => void acquireTwo(s)],
  [
    'a lock is renewed for a subscription, which is not told each time, and released when it completes',
    (s) => {
      const { lock, tell } = hold(s, 'completed', 400);
      const again = renewed(s, renewed(s, lock, 110), 210);
      tell({ kind: 'renewed', lock: again }, 220);
      s.giveBack(again, 405);
    },
  ],
  [
    'a lock is lost to another acquisition of its owner',
    (s) => {
      const { lock, tell } = hold(s, 'over', 170);
      s.acquire('A', [140, 150], { reacquired: true });
      tell({ kind: 'lost', fencingToken: lock.fencingToken, cause: 'SUPERSEDED' }, 160);
    },
  ],
  [
    'a lock is renewed for a subscription that was told of its expiry meanwhile, since somebody else had renewed it for longer',
    (s) => {
      const { lock, tell } = hold(s, 'over', 310);
      const longer = s.change('RENEWED', { ...lock, revision: s.nextRevision(), expiresAt: 1_295 }, 295);
      s.told(renew(RESOURCE, 'A', { ttlMs: 1_000 }), [290, 300], { kind: 'renewed', lock: longer });
      tell({ kind: 'lost', fencingToken: lock.fencingToken, cause: 'EXPIRED' }, 310);
      s.change('RENEWED', { ...longer, revision: s.nextRevision() }, 350);
    },
  ],
  [
    'a lock is lost to another acquisition of its owner, which is released before that is told',
    (s) => {
      const { tell, lock } = hold(s, 'over', 200);
      s.release(s.acquire('A', [140, 150], { reacquired: true }), [160, 170]);
      tell({ kind: 'lost', fencingToken: lock.fencingToken, cause: 'SUPERSEDED' }, 180);
    },
  ],
  [
    'a lock is released, and acquired by another owner before that is told',
    (s) => {
      const { tell, lock } = hold(s, 'over', 200);
      s.release(lock, [140, 150]);
      s.acquire('B', [160, 170]);
      tell({ kind: 'lost', fencingToken: lock.fencingToken, cause: 'RELEASED' }, 180);
    },
  ],
  [
    'a lock that was lost to another acquisition is said to be released, once that one was, by a server that may not have reached the log',
    (s) => {
      loseAsReleased(s);
      s.outages.push({ server: 'S', from: 175, to: 178 });
    },
  ],
];

const WRONG: readonly WrongStory[] = [
  [
    'something comes between two locks that are acquired at once',
    (s) => void acquireTwo(s, { between: 1 }),
    /some of several locks/,
  ],
  ['two locks are acquired together at two moments', (s) => void acquireTwo(s, { at: [5, 6] }), /some of several locks/],
  [
    'only one of two locks is acquired',
    (s) => {
      acquireTwo(s);
      s.log.pop();
      s.groups[0] = { ...s.groups[0]!, told: { kind: 'unknown' } };
    },
    /some of several locks/,
  ],
  [
    'locks are said to stand in the way that were held at different moments',
    (s) => {
      const first = s.acquire('A', [0, 100], { at: 10 });
      s.release(first, [0, 100], { at: 20 });
      const second = s.acquire('A', [0, 100], { at: 30, resource: 'other' });
      const span = { from: 0, to: 100 };
      const blockedBy = new Map([
        [RESOURCE, first],
        ['other', second],
      ]);
      const question = acquireAll([RESOURCE, 'other'], 'B', { metadata: '"B"' });
      const told = { kind: 'refused-all', reason: 'HELD_BY_ANOTHER', resource: RESOURCE, blockedBy } as const;
      s.groups.push({ id: 0, client: 'client', server: 'S', question, told, span, wall: span });
    },
    /never held at one moment/,
  ],
  [
    'a lock is renewed for a subscription that was told of its loss',
    (s) => {
      const { lock, tell } = hold(s, 'over', 200);
      tell({ kind: 'lost', fencingToken: lock.fencingToken, cause: 'EXPIRED' }, 200);
      renewed(s, lock, 210);
    },
    /nobody asked for/,
  ],
  [
    'a subscription is told of a renewal that is not in the log',
    (s) => {
      const { lock, tell } = hold(s);
      tell({ kind: 'renewed', lock: { ...lock, expiresAt: 410, revision: 2n } }, 120);
    },
    /not in the log/,
  ],
  [
    'what a subscription holds is released though it was only cut off',
    (s) => {
      const { lock } = hold(s, 'cut', 100);
      s.giveBack(lock, 105);
    },
    /nobody asked for/,
  ],
  [
    'what a subscription holds is released before it completes',
    (s) => {
      const { lock } = hold(s, 'completed', 100);
      s.giveBack(lock, 90);
    },
    /nobody asked for/,
  ],
  [
    'a subscription is told of a release that is not in the log',
    (s) => {
      const { lock, tell } = hold(s);
      tell({ kind: 'lost', fencingToken: lock.fencingToken, cause: 'RELEASED' }, 120);
      s.told(release(RESOURCE, 'A', lock.fencingToken), [0, 10], LOST);
    },
    /told RELEASED, which is not in the log/,
  ],
  [
    'a subscription is told of a release when its lock was lost to another acquisition, which is held',
    (s) => {
      const { lock, tell } = hold(s, 'over', 200);
      s.acquire('A', [140, 150], { reacquired: true });
      tell({ kind: 'lost', fencingToken: lock.fencingToken, cause: 'RELEASED' }, 180);
    },
    /told RELEASED, which is not in the log/,
  ],
  [
    'a subscription is told of a release when its lock was lost to another acquisition, which was released',
    loseAsReleased,
    /told RELEASED, which is not in the log/,
  ],
  [
    'the same, though another server could not reach the log, and its own had told of the lock after the last time that it could not',
    (s) => {
      loseAsReleased(s);
      s.outages.push({ server: 'another', from: 175, to: 178 }, { server: 'S', from: 0, to: 19 });
    },
    /told RELEASED, which is not in the log/,
  ],
  [
    'a subscription is told of an expiry when its lock was released and is held by another owner',
    (s) => {
      const { tell, lock } = hold(s, 'over', 200);
      s.release(lock, [140, 150]);
      s.acquire('B', [160, 170]);
      tell({ kind: 'lost', fencingToken: lock.fencingToken, cause: 'EXPIRED' }, 180);
    },
    /told EXPIRED, which is not in the log/,
  ],
  [
    'a subscription that comes back is told of an expiry when its lock was released',
    (s) => {
      const { lock } = hold(s, 'cut', 100);
      s.release(lock, [140, 150]);
      const span = { from: 380, to: 400 };
      const updates = [
        { told: { kind: 'lost', fencingToken: lock.fencingToken, cause: 'EXPIRED' } as HoldTold, at: 400, wall: 400 },
      ];
      const question = { ...s.holds[0]!.question, fencingToken: lock.fencingToken };
      s.holds.push({ ...s.holds[0]!, id: 1, question, updates, end: 'over', span, wall: span });
    },
    /told EXPIRED, which is not in the log/,
  ],
  [
    'a subscription is told more after its loss',
    (s) => {
      const { lock, tell } = hold(s);
      const again = renewed(s, lock, 110);
      tell({ kind: 'lost', fencingToken: lock.fencingToken, cause: 'SHUTDOWN' }, 120);
      tell({ kind: 'renewed', lock: again }, 130);
    },
    /told more after its loss/,
  ],
  [
    'a subscription is told of an acquisition that is not its own',
    (s) => {
      const { lock, tell } = hold(s);
      tell({ kind: 'lost', fencingToken: lock.fencingToken + 1n, cause: 'SHUTDOWN' }, 120);
    },
    /another acquisition than its own/,
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
