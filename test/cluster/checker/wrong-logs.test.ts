import { describe, expect, test } from 'vitest';
import { acquire } from '../../support/commands.js';
import { granted, RESOURCE, violationOf, type WrongStory } from './sketch.js';

const STORIES: readonly WrongStory[] = [
  [
    'a token is given twice',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.release(lock, [20, 30]);
      s.told(
        acquire(RESOURCE, 'B', { ttlMs: 1_000 }),
        [40, 50],
        granted({ ...lock, owner: 'B', acquiredAt: 45, expiresAt: 1_045 }),
      );
    },
    /not in the log/,
  ],
  [
    'tokens go back',
    (s) => {
      s.acquire('A', [40, 50]);
      s.acquire('A', [0, 10], { reacquired: true });
    },
    /time ran backwards/,
  ],
  [
    'tokens go back where no moment tells it',
    (s) => {
      const lock = s.acquire('A', [40, 50], { at: 40 });
      s.acquire('A', [30, 39], { at: 40, reacquired: true });
      s.read([60, 70], lock);
    },
    /log tells earlier/,
  ],
  [
    'an acquire that did nothing is in the log',
    (s) => {
      s.acquire('A', [0, 10], { isLost: true });
      s.calls[0] = { ...s.calls[0]!, told: { kind: 'not-done' } };
    },
    /nobody asked for/,
  ],
  [
    'an acquire is acknowledged that the log does not have',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.log.splice(0, 1, { ...s.log[0]!, resource: 'another' });
      s.read([20, 30], lock);
    },
    /not in the log|nobody asked for/,
  ],
  [
    'a change is dated before the call that asked for it',
    (s) => {
      s.acquire('A', [100, 110], { at: 50 });
    },
    /nobody asked for/,
  ],
  [
    'a change is dated after its answer',
    (s) => {
      s.acquire('A', [0, 10], { at: 50 });
    },
    /nobody asked for/,
  ],
  [
    'the log leaves a revision out',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.renew(lock, [20, 30]);
      s.renew(lock, [40, 50]);
      s.log.splice(1, 1);
    },
    /do not follow one another/,
  ],
  [
    'the log tells a change that nobody asked for',
    (s) => {
      s.acquire('A', [0, 10]);
      s.calls.length = 0;
    },
    /nobody asked for/,
  ],
];

describe('a history is rejected in which', () => {
  test.each(STORIES)('%s', (_title, tell, problem) => {
    expect(violationOf(tell)).toMatch(problem);
  });
});
