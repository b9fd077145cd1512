import { expect, it } from 'vitest';
import { prunableUpTo } from '../../src/store/retention.js';

const NOW = 100_000;
const RETRY_WINDOW_MS = 1000;
const EVENT_AGE_MS = 50_000;

function prunable(ages: readonly number[], { excess = 0, oldestRevision = 0n, eventAgeMs = EVENT_AGE_MS } = {}): bigint | null {
  const events = ages.map((age, i) => ({ revision: BigInt(i + 1), writtenAt: NOW - age }));
  return prunableUpTo({ events, oldestRevision, excess }, eventAgeMs, RETRY_WINDOW_MS, NOW);
}

it('nothing goes while the log is neither too old nor too long', () => {
  expect(prunable([50_000, 10])).toBeNull();
});

it('what is older than the retention goes', () => {
  expect(prunable([50_002, 50_001, 50_000])).toBe(2n);
});

it('the oldest go while there are too many', () => {
  expect(prunable([9000, 8000, 7000], { excess: 2 })).toBe(2n);
});

it('what a restore left of an earlier history goes before anything of this one', () => {
  expect(prunable([9000, 8000, 7000], { oldestRevision: 2n, excess: -10 })).toBe(2n);
});

it('what is within the retry window stays, however many there are and however short the retention is', () => {
  expect(prunable([1001, 1000, 1], { excess: 9999, eventAgeMs: 0 })).toBe(1n);
});
