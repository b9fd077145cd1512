import { describe, expect, test } from 'vitest';
import { release, renew } from '../../support/commands.js';
import { granted, requested, RESOURCE, violationOf, type WrongStory } from './sketch.js';

const NEVER_TRUE = /true at no moment/;

const STORIES: readonly WrongStory[] = [
  [
    'a late release with an old token is answered as the release of the newer lock',
    (s) => {
      const old = s.acquire('A', [0, 10]);
      const lock = s.acquire('A', [20, 30], { reacquired: true });
      const released = s.release(lock, [40, 50], { isLost: true });
      s.told(release(RESOURCE, 'A', old.fencingToken), [60, 70], released);
    },
    NEVER_TRUE,
  ],
  [
    'an answer is lost, and its repetition acquires a second time',
    (s) => {
      s.acquire('A', [0, 10], { requestId: 'one', isLost: true });
      s.acquire('A', [20, 30], { requestId: 'one', reacquired: true });
    },
    /acquired twice/,
  ],
  [
    'an acquire whose answer was lost acquires twice',
    (s) => {
      s.acquire('A', [0, 10], { isLost: true });
      const again = s.acquire('A', [20, 30], { reacquired: true });
      s.calls.pop();
      s.log.splice(1, 1, { ...s.log[1]!, metadata: s.log[0]!.metadata });
      s.read([40, 50], { ...again, metadata: s.log[0]!.metadata });
    },
    /nobody asked for/,
  ],
  [
    'a renewal whose answer was lost renews twice',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      const renewed = s.renew(lock, [20, 30], { isLost: true });
      s.read([40, 50], s.renew(renewed, [31, 35]));
      s.calls.splice(2, 1);
    },
    /nobody asked for/,
  ],
  [
    'one request is told two acquisitions',
    (s) => {
      s.acquire('A', [0, 10], { requestId: 'one' });
      s.acquire('A', [20, 30], { requestId: 'one', reacquired: true });
    },
    /acquired twice/,
  ],
  [
    'two requests are told the same acquisition',
    (s) => {
      const lock = s.acquire('A', [0, 10], { requestId: 'one' });
      s.told(requested('A', 'other'), [20, 30], granted(lock));
    },
    /not in the log/,
  ],
  [
    'a repeated acquire is refused as spent while its acquisition is held',
    (s) => {
      const lock = s.acquire('A', [0, 10], { requestId: 'one' });
      const spent = { kind: 'conflict', reason: 'REQUEST_SPENT', current: lock } as const;
      s.told(requested('A', 'one'), [20, 30], spent);
    },
    NEVER_TRUE,
  ],
  [
    'a repeated acquire is told what it had acquired after that was over',
    (s) => {
      const lock = s.acquire('A', [0, 10], { requestId: 'one' });
      s.release(lock, [20, 30]);
      s.told(requested('A', 'one'), [40, 50], granted(lock));
    },
    NEVER_TRUE,
  ],
  [
    'one renewal is told to two calls',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      const renewed = s.renew(lock, [20, 30]);
      s.told(renew(RESOURCE, 'A'), [20, 30], { kind: 'renewed', lock: renewed });
    },
    /made for another call/,
  ],
  [
    'one release without the token is told to two calls',
    (s) => {
      const released = s.release(s.acquire('A', [0, 10]), [20, 30], { withToken: false });
      s.told(release(RESOURCE, 'A'), [20, 30], released);
    },
    /made for another call/,
  ],
  [
    'a release is told to be nothing to release while the owner holds the lock',
    (s) => {
      s.acquire('A', [0, 10]);
      s.told(release(RESOURCE, 'A'), [20, 30], { kind: 'not-found' });
    },
    NEVER_TRUE,
  ],
  [
    'a repeated release is told to be nothing to release',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      s.release(lock, [20, 30]);
      s.told(release(RESOURCE, 'A', lock.fencingToken), [40, 50], { kind: 'not-found' });
    },
    NEVER_TRUE,
  ],
  [
    'a release without the token is answered as a repetition',
    (s) => {
      const lock = s.acquire('A', [0, 10]);
      const released = s.release(lock, [20, 30]);
      s.told(release(RESOURCE, 'A'), [40, 50], released);
    },
    /nobody asked for/,
  ],
  [
    'a lost call is taken for two changes',
    (s) => {
      const lock = s.acquire('A', [0, 10], { isLost: true });
      s.release(lock, [20, 30]);
      s.acquire('A', [40, 50]);
      s.calls.pop();
    },
    /nobody asked for/,
  ],
];

describe('a history is rejected in which', () => {
  test.each(STORIES)('%s', (_title, tell, problem) => {
    expect(violationOf(tell)).toMatch(problem);
  });
});
