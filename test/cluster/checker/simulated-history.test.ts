import { expect, test } from 'vitest';
import { rounds, timeLimit } from '../../support/rounds.js';
import { freshSeed, SeededRandom } from '../random.js';
import { findViolation } from './checker.js';
import { CORRUPTIONS } from './corruptions.js';
import { describe } from './history.js';
import { simulateHistory, type SimulatedHistory } from './simulated-history.js';

const TOLERANCE = { commandMs: 1, readMs: 1 };
const LOST = 0.2;
const PER_HISTORY = 10;

function violationOf(history: SimulatedHistory): string | null {
  const violation = findViolation(history, history.log, TOLERANCE);
  return violation === null ? null : describe(violation);
}

test('a service that keeps the rules is believed, whatever overlaps and whatever is lost', { timeout: timeLimit(60_000) }, () => {
  const first = freshSeed();
  for (let seed = first; seed < first + rounds(2_000, 100); seed++) {
    const history = simulateHistory(seed, seed % 2 === 0 ? 0 : LOST);
    expect(violationOf(history), `seed ${seed}`).toBeNull();
    expect(history.log.length).toBeGreaterThan(50);
  }
});

test.each(Object.keys(CORRUPTIONS))(
  'a single answer that tells %s is noticed, whatever else overlaps or is lost',
  { timeout: timeLimit(60_000) },
  (name) => {
    const corrupt = CORRUPTIONS[name]!;
    const first = freshSeed();
    let corrupted = 0;
    for (let seed = first; seed < first + rounds(100, 5); seed++) {
      const history = simulateHistory(seed, seed % 2 === 0 ? 0 : LOST);
      const random = new SeededRandom(seed);
      for (let tries = 0, left = PER_HISTORY; tries < history.calls.length && left > 0; tries++) {
        const call = random.anyOf(history.calls);
        const told = corrupt(call, history, random);
        if (told === null) continue;
        const calls = history.calls.map((other) => (other === call ? { ...call, told } : other));
        expect(violationOf({ ...history, calls }), `seed ${seed}, call ${call.id}`).not.toBeNull();
        left--;
        corrupted++;
      }
    }
    expect(corrupted).toBeGreaterThan(PER_HISTORY);
  },
);
