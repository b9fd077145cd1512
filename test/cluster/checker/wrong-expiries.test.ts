import { describe, expect, test } from 'vitest';
import { renew } from '../../support/commands.js';
import { RESOURCE, violationOf, type WrongStory } from './sketch.js';

const NEVER_TRUE = /true at no moment/;

const STORIES: readonly WrongStory[] = [
  [
    'a lock is granted to another owner a moment before it expires',
    (s) => {
      const lock = s.acquire('A', [0, 2], { ttlMs: 100 });
      s.expire(lock);
      s.acquire('B', [99, 101], { at: 100.5 });
    },
    /claimed before it had expired|time ran backwards/,
  ],
  [
    'an expired lock is claimed, and its expiry is nowhere told',
    (s) => {
      s.acquire('A', [0, 10], { ttlMs: 100 });
      s.acquire('B', [200, 210]);
    },
    /claimed without an EXPIRED/,
  ],
  [
    'a lock is read as free well before its expiry',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 100 });
      s.read([50, 60], null);
      s.expire(lock);
    },
    NEVER_TRUE,
  ],
  [
    'a lock is read well after its expiry',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 100 });
      s.read([150, 160], lock);
      s.expire(lock);
    },
    NEVER_TRUE,
  ],
  [
    'a read shows the revision of the expiry as that of a held lock',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 100 });
      s.expire(lock);
      s.read([90, 200], { ...lock, revision: 2n });
    },
    NEVER_TRUE,
  ],
  [
    'an acquire is refused after the expiry of what is said to hold it',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 100 });
      s.refuse('B', [150, 160], lock);
      s.expire(lock);
    },
    NEVER_TRUE,
  ],
  [
    'a renewal brings the expiry forward',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.renew({ ...lock, ttlMs: 10, expiresAt: 0 }, [20, 30]);
    },
    /brought the expiry forward/,
  ],
  [
    'a lock that has expired is renewed',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 100 });
      s.renew(lock, [150, 160]);
    },
    /renewed though nothing was held/,
  ],
  [
    'a lock whose expiry is told is renewed, since its renewal was decided too late',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 100 });
      s.expire(lock);
      s.renew(lock, [90, 150], { at: 104 });
    },
    /time ran backwards/,
  ],
  [
    'a renewal is refused as too late well before the expiry',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 100 });
      s.told(renew(RESOURCE, 'A'), [40, 50], { kind: 'conflict', reason: 'EXPIRED', current: null });
      s.expire(lock);
    },
    NEVER_TRUE,
  ],
  [
    'a lock expires at another moment than it was to',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 100 });
      s.expire({ ...lock, expiresAt: 104 });
    },
    /another moment than its own/,
  ],
  [
    'a lock expires twice',
    (s) => {
      const lock = s.acquire('A', [0, 10], { ttlMs: 100 });
      s.expire(lock);
      s.expire(lock);
    },
    /expired though nothing was held/,
  ],
];

describe('a history is rejected in which', () => {
  test.each(STORIES)('%s', (_title, tell, problem) => {
    expect(violationOf(tell)).toMatch(problem);
  });
});
