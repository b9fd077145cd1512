import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LockEvent } from '../../src/locks/events.js';
import type { Lock } from '../../src/locks/lock.js';
import type { Outcome } from '../../src/locks/outcomes.js';
import { asOneGroup, runScript, type ScriptRun } from './run-script.js';
import { script } from './scripts.js';

/** Checks a promise over many random scripts; what fails is shrunk to the shortest script that still does. */
function always(check: (run: ScriptRun) => void): void {
  fc.assert(
    fc.property(script, (steps) => check(runScript(steps))),
    { numRuns: 100 },
  );
}

const acquisitions = (log: readonly LockEvent[]) => log.filter(({ type }) => type === 'ACQUIRED');

/** Calls back for each event with the one before it on the same resource. */
function eachWithPrevious(log: readonly LockEvent[], visit: (event: LockEvent, previous: LockEvent | undefined) => void): void {
  const previous = new Map<string, LockEvent>();
  for (const event of log) {
    visit(event, previous.get(event.resource));
    previous.set(event.resource, event);
  }
}

test('the random scripts reach every answer', () => {
  const answers = fc
    .sample(script, { numRuns: 60, seed: 1 })
    .flatMap((steps) => runScript(steps).outcomes)
    .map((outcome) => (outcome.kind === 'conflict' ? outcome.reason : outcome.kind));
  expect([...new Set(answers)].sort()).toEqual([
    ...['DEADLOCK', 'EXPIRED', 'HELD_BY_ANOTHER', 'HELD_BY_SELF', 'REQUEST_SPENT', 'STALE_TOKEN'],
    ...['acquired', 'acquired-all', 'forbidden', 'left', 'not-found', 'not-in-line', 'queued'],
    ...['released', 'released-all', 'renewed', 'renewed-all', 'settled'],
  ]);
});

test('any commands in any groups are answered as the simple model answers them, and leave its rows and lines', () => {
  always(({ outcomes, expectedOutcomes, rows, expectedRows, waiters, expectedWaiters }) => {
    expect(outcomes.map(withLengthOfCircle)).toEqual(expectedOutcomes.map(withLengthOfCircle));
    expect(rows).toEqual(expectedRows);
    expect(waiters).toEqual(expectedWaiters);
  });
});

test('any commands are decided alike, whether all is read beforehand or only what turns out to matter', () => {
  fc.assert(
    fc.property(script, fc.integer({ min: 1, max: 3 }), (steps, firstInLine) => {
      const { groups } = runScript(steps, { reading: firstInLine });
      expect(groups).toEqual(runScript(steps, { reading: 'everything' }).groups);
    }),
    { numRuns: 70 },
  );
});

test('any commands split into other groups at the same moments, after what was due, have the same outcomes', () => {
  // Revisions and tickets may differ: a group hands on what it touches first of all, and gives out the tickets of those that came
  // and went within it again.
  const withoutRevisions = ({ outcomes, log }: ScriptRun) => {
    const ordinals = new Map(acquisitions(log).map(({ fencingToken }, index) => [fencingToken, index]));
    return JSON.stringify(outcomes, (key, value: unknown) => {
      if (key === 'revision' || key === 'ticket') return undefined;
      return typeof value === 'bigint' ? ordinals.get(value) : value;
    });
  };
  fc.assert(
    fc.property(script, (steps) => {
      const asGiven = runScript(steps, { sweep: true });
      expect(withoutRevisions(asGiven)).toEqual(withoutRevisions(runScript(steps, { sweep: true, groupsOf: asOneGroup })));
    }),
    { numRuns: 50 },
  );
});

test('no acquisition begins while another owner holds the lock', () => {
  always(({ log }) =>
    eachWithPrevious(log, (event, previous) => {
      if (event.type !== 'ACQUIRED' || previous === undefined || previous.owner === event.owner) return;
      expect(['RELEASED', 'EXPIRED']).toContain(previous.type);
      if (previous.type === 'EXPIRED') expect(previous.expiresAt).toBeLessThanOrEqual(event.at);
    }),
  );
});

test('every token is the revision of its ACQUIRED, and so rises over all resources', () => {
  always(({ log }) => {
    for (const { fencingToken, revision } of acquisitions(log)) expect(fencingToken).toBe(revision);
    eachWithPrevious(log, (event, previous) => {
      if (event.type !== 'ACQUIRED') expect(event.fencingToken).toBe(previous?.fencingToken);
    });
  });
});

test('the revisions of the log have no gap, and its writing times never fall', () => {
  always(({ log }) => {
    expect(log.map(({ revision }) => Number(revision))).toEqual(log.map((_, index) => index + 1));
    expect(log.map(({ writtenAt }) => writtenAt)).toEqual(log.map(({ writtenAt }) => writtenAt).sort((one, other) => one - other));
  });
});

test('no renewal brings expiresAt forward, or moves anything but expiresAt', () => {
  always(({ log }) =>
    eachWithPrevious(log, (event, previous) => {
      if (event.type !== 'RENEWED') return;
      expect(event.at).toBeLessThan(previous?.expiresAt ?? 0);
      expect(event.expiresAt).toBeGreaterThanOrEqual(previous?.expiresAt ?? Infinity);
      const { resource, owner, fencingToken, acquiredAt, requestId, metadata } = event;
      expect(previous).toMatchObject({ resource, owner, fencingToken, acquiredAt, requestId, metadata });
    }),
  );
});

test('an ownership ends once: by one RELEASED before its expiry, or one EXPIRED dated at its expiry', () => {
  always(({ log }) =>
    eachWithPrevious(log, (event, previous) => {
      if (event.type === 'ACQUIRED') return;
      expect(['ACQUIRED', 'RENEWED']).toContain(previous?.type);
      expect(event.at).toBe(event.type === 'EXPIRED' ? event.expiresAt : event.writtenAt);
      if (event.type === 'RELEASED') expect(event.at).toBeLessThan(event.expiresAt);
    }),
  );
});

test('the log is a faithful history: replaying its events gives the rows', () => {
  always(({ log, rows, purges }) => {
    const replayed = new Map<string, LockEvent>();
    for (const event of log) {
      if (event.type === 'RELEASED') replayed.delete(event.resource);
      else replayed.set(event.resource, event);
    }
    for (const { resource, revision } of purges) {
      if ((replayed.get(resource)?.revision ?? Infinity) <= revision) replayed.delete(resource);
    }
    expect(new Map([...rows].map(([resource, row]) => [resource, visibleInLog(row)]))).toEqual(
      new Map([...replayed].map(([resource, event]) => [resource, rowOf(event)])),
    );
  });
});

function visibleInLog({
  resource,
  owner,
  fencingToken,
  revision,
  acquiredAt,
  expiresAt,
  requestId,
  metadata,
  expiryRecorded,
}: Lock) {
  return { resource, owner, fencingToken, revision, acquiredAt, expiresAt, requestId, metadata, expiryRecorded };
}

function rowOf({ type, resource, owner, fencingToken, revision, acquiredAt, expiresAt, requestId, metadata }: LockEvent) {
  const expiryRecorded = type === 'EXPIRED';
  return { resource, owner, fencingToken, revision, acquiredAt, expiresAt, requestId, metadata, expiryRecorded };
}

/** Which of several circles of that length is named, is not said. */
function withLengthOfCircle(outcome: Outcome) {
  return outcome.kind === 'conflict' ? { ...outcome, circle: outcome.circle?.length } : outcome;
}
