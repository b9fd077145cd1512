import { expect, test } from 'vitest';
import { runChaos, type ChaosResult } from './chaos.js';
import { findViolation } from './checker/checker.js';
import { describe } from './checker/history.js';
import { figuresOf } from './figures.js';
import { freshSeed } from './random.js';

/** Set by `npm run chaos`. */
const { HOLDFAST_CHAOS_SEED: givenSeed, HOLDFAST_CHAOS_SECONDS: givenSeconds } = process.env;
const SEED = givenSeed === undefined ? freshSeed() : Number(givenSeed);
const DURATION_MS = givenSeconds === undefined ? 20_000 : Number(givenSeconds) * 1000;
const AROUND_IT_MS = 100_000;

/** The recorder and the database go by the same clock of the same machine, which a time server may set meanwhile. */
const TOLERANCE = { commandMs: 20, readMs: 20 };

/** Nobody is told an expiry before its time has come. */
function toldTooEarly({ watchers }: ChaosResult): unknown[] {
  return watchers.flatMap(({ changes, arrivals }) =>
    changes.filter(({ at }, index) => (arrivals[index] ?? 0) < at - TOLERANCE.commandMs),
  );
}

test(
  'three instances whose processes, clocks, networks and database fail go on as one fenced lock',
  { timeout: DURATION_MS + AROUND_IT_MS },
  async () => {
    const result = await runChaos(SEED, DURATION_MS);
    const { calls, log, watchers, instances } = result;
    if (givenSeconds !== undefined) console.log(figuresOf(result));

    expect(log.map(({ revision }) => revision)).toEqual(log.map((_, index) => BigInt(index + 1)));
    const violation = findViolation(calls, log, TOLERANCE);
    expect(violation === null ? null : describe(violation), `seed ${SEED}`).toBeNull();
    for (const watcher of watchers) {
      expect(watcher.changes).toEqual(log);
      expect(watcher.faults).toEqual([]);
    }
    expect(toldTooEarly(result)).toEqual([]);
    const internalErrors = instances.flatMap((instance) => instance.internalErrors).join('\n');
    expect(result.answerFaults, internalErrors).toEqual([]);
    expect(instances.flatMap(({ wrongEnds }) => wrongEnds)).toEqual([]);
    // The load was a load, and each kind of change is in it.
    expect(calls.filter(({ told }) => told.kind === 'acquired').length).toBeGreaterThan(DURATION_MS / 500);
    expect(new Set(log.map(({ type }) => type)).size).toBe(4);
  },
);
