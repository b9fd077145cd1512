import { describe, expect, test } from 'vitest';
import { release } from '../../support/commands.js';
import { RESOURCE, violationOf, type WrongStory } from './sketch.js';

const GRANTED_TWICE = /granted while another owner held it/;
const NEVER_TRUE = /true at no moment/;

const STORIES: readonly WrongStory[] = [
  [
    'two hold the lock at once',
    (s) => {
      s.acquire('A', [0, 10]);
      s.acquire('B', [20, 30]);
    },
    GRANTED_TWICE,
  ],
  [
    'two are granted the lock at the same moment',
    (s) => {
      s.acquire('A', [0, 10]);
      s.acquire('B', [0, 10]);
    },
    GRANTED_TWICE,
  ],
  [
    'a late release of the same owner frees its newer lock',
    (s) => {
      const old = s.acquire('A', [0, 10]);
      const lock = s.acquire('A', [20, 30], { reacquired: true });
      const released = s.release({ ...lock, fencingToken: old.fencingToken }, [40, 50]);
      s.told(release(RESOURCE, 'A', old.fencingToken), [60, 70], released);
    },
    /released another lock/,
  ],
  [
    'a released lock is read after the release was answered',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.release(lock, [20, 30]);
      s.read([31, 40], lock);
    },
    NEVER_TRUE,
  ],
  [
    'a lock is not read after its acquire was answered',
    (s) => {
      s.acquire('A', [0, 10]);
      s.read([11, 20], null);
    },
    NEVER_TRUE,
  ],
  [
    'a read travels back in time, both of them overlapping the acquire',
    (s) => {
      const lock = s.acquire('A', [0, 100]);
      s.read([10, 20], lock);
      s.read([30, 40], null);
    },
    NEVER_TRUE,
  ],
  [
    'a read shows an older revision than another one before it',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      const renewed = s.renew(lock, [20, 100]);
      s.read([30, 40], renewed);
      s.read([50, 60], lock);
    },
    NEVER_TRUE,
  ],
  [
    'an acquire is refused while the lock is free',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.release(lock, [20, 30]);
      s.refuse('B', [40, 50], lock);
    },
    NEVER_TRUE,
  ],
  [
    'an acquire is refused for a lock that nobody ever held',
    (s) => {
      const lock = s.acquire('A', [20, 30]);
      s.refuse('B', [0, 10], lock);
    },
    NEVER_TRUE,
  ],
  [
    'an owner is refused its own lock as if it were another one',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.refuse('A', [20, 30], lock);
    },
    NEVER_TRUE,
  ],
  [
    'a renewal changes the token',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.renew({ ...lock, fencingToken: 2n }, [20, 30]);
    },
    /changed what it renewed/,
  ],
  [
    'a renewal gives more time than was asked for',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.renew({ ...lock, ttlMs: 5_000 }, [20, 30]);
    },
    /nobody asked for/,
  ],
  [
    'an acquire says that nothing was held before, though its owner held it',
    (s) => {
      s.acquire('A', [0, 10]);
      s.acquire('A', [20, 30]);
    },
    /re-acquire that was not allowed or not told/,
  ],
];

describe('a history is rejected in which', () => {
  test.each(STORIES)('%s', (_title, tell, problem) => {
    expect(violationOf(tell)).toMatch(problem);
  });
});
