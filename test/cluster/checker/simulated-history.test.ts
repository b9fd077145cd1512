import { expect, test } from 'vitest';
import { rounds, timeLimit } from '../../support/rounds.js';
import { freshSeed, SeededRandom } from '../random.js';
import { findViolation } from './checker.js';
import { CORRUPTIONS, GROUP_CORRUPTIONS, LOG_CORRUPTIONS } from './corruptions.js';
import { describe } from './history.js';
import { simulateHistory, type SimulatedHistory } from './simulated-history.js';

const TOLERANCE = { commandMs: 1, readMs: 1 };
const LOST = 0.2;
const PER_HISTORY = 10;
const MAX_TRIES = 200;

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

/** Spoils histories, each in several ways, and expects all of them to be noticed. */
function expectNoticed(spoil: (history: SimulatedHistory, random: SeededRandom) => SimulatedHistory | null): void {
  const first = freshSeed();
  let spoilt = 0;
  for (let seed = first; seed < first + rounds(100, 5) || spoilt < PER_HISTORY; seed++) {
    const history = simulateHistory(seed, seed % 2 === 0 ? 0 : LOST);
    const random = new SeededRandom(seed);
    for (let tries = 0, left = PER_HISTORY; tries < MAX_TRIES && left > 0; tries++) {
      const wrong = spoil(history, random);
      if (wrong === null) continue;
      expect(violationOf(wrong), `seed ${seed}`).not.toBeNull();
      left--;
      spoilt++;
    }
  }
}

test.each(Object.entries(CORRUPTIONS))(
  'a single answer that tells %s is noticed, whatever else overlaps or is lost',
  { timeout: timeLimit(60_000) },
  (_name, corrupt) => {
    expectNoticed((history, random) => {
      const call = random.anyOf(history.calls);
      const told = corrupt(call, history, random);
      return told && { ...history, calls: history.calls.map((other) => (other === call ? { ...call, told } : other)) };
    });
  },
);

test.each(Object.entries(GROUP_CORRUPTIONS))(
  'a single answer that tells %s is noticed, whatever else overlaps or is lost',
  { timeout: timeLimit(60_000) },
  (_name, corrupt) => {
    expectNoticed((history, random) => {
      const call = random.anyOf(history.groups);
      const told = corrupt(call, history, random);
      return told && { ...history, groups: history.groups.map((other) => (other === call ? { ...call, told } : other)) };
    });
  },
);

test.each(Object.entries(LOG_CORRUPTIONS))(
  'a history in which %s is noticed, whatever else overlaps or is lost',
  { timeout: timeLimit(60_000) },
  (_name, corrupt) => {
    expectNoticed(corrupt);
  },
);
