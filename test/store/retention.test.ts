import { expect, it } from 'vitest';
import { prunableUpTo } from '../../src/store/retention.js';

const NOW = 100_000;
const RETRY_WINDOW_MS = 1000;
const ages = (...list: number[]) => list.map((age, i) => ({ revision: BigInt(i + 1), writtenAt: NOW - age }));
const policy = (rest: object) => ({ eventAgeMs: 50_000, eventRows: 100, expiredLockAgeMs: 0, ...rest });

it('nothing goes while the log is neither too old nor too long', () => {
  expect(prunableUpTo({ events: ages(50_000, 10), total: 100 }, policy({}), RETRY_WINDOW_MS, NOW)).toBeNull();
});

it('what is older than the retention goes', () => {
  expect(prunableUpTo({ events: ages(50_002, 50_001, 50_000), total: 3 }, policy({}), RETRY_WINDOW_MS, NOW)).toBe(2n);
});

it('the oldest go while there are too many', () => {
  expect(prunableUpTo({ events: ages(9000, 8000, 7000), total: 102 }, policy({}), RETRY_WINDOW_MS, NOW)).toBe(2n);
});

it('what is within the retry window stays, however many there are and however short the retention is', () => {
  const events = ages(1001, 1000, 1);
  expect(prunableUpTo({ events, total: 9999 }, policy({ eventAgeMs: 0 }), RETRY_WINDOW_MS, NOW)).toBe(1n);
});
