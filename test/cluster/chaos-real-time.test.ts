import { expect, test } from 'vitest';
import { runChaos, type ChaosResult } from './chaos.js';
import { findViolation } from './checker/checker.js';
import { describe } from './checker/history.js';
import { findLateTurn } from './checker/tickets.js';
import { figuresOf } from './figures.js';
import { readChaosSettings } from './chaos-settings.js';
import { freshSeed } from './random.js';

/** Set by `npm run chaos`. */
const given = readChaosSettings(process.env);
const SEED = given?.seed ?? freshSeed();
const RUNS =
  given === null
    ? ([
        ['postgresql', 20_000],
        ['sqlite', 8_000],
      ] as const)
    : [[given.database, given.seconds * 1000] as const];
const AROUND_IT_MS = 100_000;

/** The recorder and the database go by the same clock of the same machine, which a time server may set meanwhile. */
const TOLERANCE = { commandMs: 20, readMs: 20 };

/** Nobody is told an expiry before its time has come. */
function toldTooEarly({ watchers }: ChaosResult): unknown[] {
  return watchers.flatMap(({ changes, arrivals }) =>
    changes.filter(({ at }, index) => (arrivals[index] ?? 0) < at - TOLERANCE.commandMs),
  );
}

/** Resources of which the log does not tell the end, though all TTLs are over. */
function neverEnded({ log }: ChaosResult): string[] {
  const last = new Map(log.map(({ resource, type }) => [resource, type]));
  return [...last].flatMap(([resource, type]) => (type === 'RELEASED' || type === 'EXPIRED' ? [] : [resource]));
}

test.each(RUNS)(
  'three instances on %s whose processes, clocks and networks fail go on as one fenced lock',
  { timeout: Math.max(...RUNS.map(([, durationMs]) => durationMs)) + AROUND_IT_MS },
  async (database, durationMs) => {
    const result = await runChaos({ seed: SEED, durationMs, database });
    const { history, log, turns, watchers, instances } = result;
    if (given !== null) console.log(figuresOf(result));

    expect(log.map(({ revision }) => revision)).toEqual(log.map((_, index) => BigInt(index + 1)));
    const violation = findViolation(history, log, TOLERANCE);
    expect(violation === null ? null : describe(violation), `seed ${SEED}`).toBeNull();
    const lateTurn = findLateTurn(turns, log);
    expect(lateTurn === null ? null : describe(lateTurn), `seed ${SEED}`).toBeNull();
    for (const watcher of watchers) {
      expect(watcher.changes).toEqual(log);
      expect(watcher.faults).toEqual([]);
    }
    expect(toldTooEarly(result)).toEqual([]);
    expect(neverEnded(result)).toEqual([]);
    const internalErrors = instances.flatMap((instance) => instance.internalErrors).join('\n');
    expect(result.answerFaults, internalErrors).toEqual([]);
    expect(instances.flatMap(({ wrongEnds }) => wrongEnds)).toEqual([]);
    // The load was a load, and each kind of change is in it.
    expect(log.filter(({ type }) => type === 'ACQUIRED').length).toBeGreaterThan(durationMs / 500);
    expect(new Set(log.map(({ type }) => type)).size).toBe(4);
  },
);
