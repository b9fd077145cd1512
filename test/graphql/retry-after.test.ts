import { expect, test } from 'vitest';
import { retryAfterMs } from '../../src/graphql/retry-after.js';

test.each(['HELD_BY_ANOTHER', 'HELD_BY_SELF', 'WAIT_TIMEOUT', 'DEADLOCK'] as const)(
  '%s: never before the lock expires, and a little later at random',
  (reason) => {
    expect(retryAfterMs(reason, 6000, () => 0)).toBe(6000);
    expect(retryAfterMs(reason, 6000, () => 0.5)).toBe(6325);
    expect(retryAfterMs(reason, 86_400_000, () => 1)).toBe(86_401_000);
  },
);

test('a lock about to expire still spreads those who come back', () => {
  expect(retryAfterMs('HELD_BY_ANOTHER', 0, () => 1)).toBe(50);
});

test('a lock that is kept for those in line: a second, since nobody knows better', () => {
  expect(retryAfterMs('HELD_BY_ANOTHER', null, () => 0)).toBe(1000);
});

test('the longest wait is one that GraphQL can tell', () => {
  expect(retryAfterMs('HELD_BY_ANOTHER', 2 ** 31 - 1, () => 1)).toBe(2 ** 31 - 1);
});

test.each(['EXPIRED', 'STALE_TOKEN', 'REQUEST_SPENT'] as const)('%s: trying again changes nothing', (reason) => {
  expect(retryAfterMs(reason, 6000)).toBeNull();
});
