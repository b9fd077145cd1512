import { describe, expect, test } from 'vitest';
import { release, renew } from '../../support/commands.js';
import { granted, LOST, requested, RESOURCE, violationOf, type Story } from './sketch.js';

const STORIES: readonly Story[] = [
  [
    'one takes, renews and releases, and is read in between',
    (s) => {
      s.read([0, 1], null);
      const lock = s.acquire('A', [2, 4]);
      s.read([5, 6], lock);
      const renewed = s.renew(lock, [7, 9]);
      s.read([10, 11], renewed);
      s.release(renewed, [12, 14]);
      s.read([15, 16], null);
    },
  ],
  [
    'reads that overlap the acquire see it or not, in any order of their answers',
    (s) => {
      const lock = s.acquire('A', [0, 100]);
      s.read([20, 30], null);
      s.read([10, 90], lock);
      s.read([40, 50], lock);
    },
  ],
  [
    'a refusal is answered after the release that came while it was under way',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.refuse('B', [20, 60], lock);
      s.release(lock, [30, 40]);
    },
  ],
  [
    'a lock is free in the very millisecond of its expiry, and seen a rounding later or earlier',
    (s) => {
      const lock = s.acquire('A', [0, 2], { ttlMs: 100 });
      s.read([101, 102], lock);
      s.expire(lock);
      s.read([100, 101], null);
      s.acquire('B', [100, 102]);
    },
  ],
  [
    'an acquire whose answer was lost took effect long after its client had gone on',
    (s) => {
      s.read([50, 60], null);
      const lock = s.acquire('A', [0, 10], { at: 70, isLost: true });
      s.read([80, 90], lock);
    },
  ],
  [
    'an acquire whose answer was lost never took effect',
    (s) => {
      s.told(requested('A', 'one'), [0, 10], LOST);
      s.acquire('B', [20, 30]);
    },
  ],
  [
    'a repeated acquire gets the acquisition of the one whose answer was lost, as it is now',
    (s) => {
      const lock = s.acquire('A', [0, 10], { requestId: 'one', isLost: true });
      const renewed = s.renew(lock, [20, 30]);
      s.told(requested('A', 'one'), [40, 50], granted(renewed));
    },
  ],
  [
    'a repeated acquire is what acquired, since the first one never arrived',
    (s) => {
      s.told(requested('A', 'one'), [0, 10], LOST);
      s.read([20, 30], null);
      s.acquire('A', [40, 50], { requestId: 'one' });
    },
  ],
  [
    'a repeated acquire is told that what it had acquired is over',
    (s) => {
      const lock = s.acquire('A', [0, 10], { requestId: 'one', isLost: true });
      s.release(lock, [20, 30], { withToken: false });
      const spent = { kind: 'conflict', reason: 'REQUEST_SPENT', current: null } as const;
      s.told(requested('A', 'one'), [40, 50], spent);
    },
  ],
  [
    'a repeated release gets the answer that was lost, though somebody else holds the lock by now',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      const released = s.release(lock, [20, 30], { isLost: true });
      s.acquire('B', [40, 50]);
      s.told(release(RESOURCE, 'A', lock.fencingToken), [60, 70], released);
    },
  ],
  [
    'a renewal whose answer was lost keeps the lock for longer',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 100 });
      const renewed = s.renew(lock, [50, 60], { isLost: true });
      s.refuse('B', [140, 150], renewed);
    },
  ],
  [
    'the owner takes its lock again, and its old token is refused',
    (s) => {
      const old = s.acquire('A', [0, 10]);
      const lock = s.acquire('A', [20, 30], { reacquired: true });
      const stale = { kind: 'conflict', reason: 'STALE_TOKEN', current: lock } as const;
      s.told(release(RESOURCE, 'A', old.fencingToken), [40, 50], stale);
      s.told(renew(RESOURCE, 'A', { fencingToken: old.fencingToken }), [60, 70], stale);
    },
  ],
  [
    'what has expired is not renewed, not released and not seen',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 100 });
      s.expire(lock);
      s.told(renew(RESOURCE, 'A'), [120, 130], { kind: 'conflict', reason: 'EXPIRED', current: null });
      s.told(release(RESOURCE, 'A'), [140, 150], { kind: 'not-found' });
      s.read([160, 170], null);
    },
  ],
  [
    'a renewal is decided before the expiry and stored after it, and a reader finds nothing in between',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 100 });
      s.read([115, 116], null);
      const renewed = s.renew(lock, [90, 130], { at: 104 });
      s.read([140, 150], renewed);
    },
  ],
];

describe('a history is accepted in which', () => {
  test.each(STORIES)('%s', (_title, tell) => {
    expect(violationOf(tell)).toBeNull();
  });
});
