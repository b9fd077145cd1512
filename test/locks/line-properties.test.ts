import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LockEvent } from '../../src/locks/events.js';
import { heldLock } from '../../src/locks/lock.js';
import type { Waiter } from '../../src/locks/waiter.js';
import { acquire, acquireAll, expire, releaseAll, waiting } from '../support/lock-values.js';
import { MemoryStore } from './memory-store.js';
import { runScript, type GroupRun, type ScriptRun } from './run-script.js';
import { script } from './scripts.js';

function always(check: (run: ScriptRun) => void): void {
  fc.assert(
    fc.property(script, (steps) => check(runScript(steps))),
    { numRuns: 100 },
  );
}

const grantsOf = ({ decision }: GroupRun) => decision.events.filter(({ waiterId }) => waiterId !== null);

/** Every call that stood in line, by its id. */
function calls({
  groups,
}: ScriptRun): Map<string, { readonly deadline: number; readonly instance: string; readonly ticket: bigint }> {
  const known = new Map<string, { deadline: number; instance: string; ticket: bigint }>();
  for (const { commands, decision } of groups) {
    decision.outcomes.forEach((outcome, index) => {
      const command = commands[index];
      if (outcome.kind !== 'queued' || command === undefined || !('wait' in command) || command.wait === null) return;
      known.set(command.wait.id, { ...outcome, instance: command.wait.instance });
    });
  }
  return known;
}

test('the random scripts hand on locks, to singles and to several at once', () => {
  const grants = fc.sample(script, { numRuns: 30, seed: 1 }).flatMap((steps, run) =>
    runScript(steps)
      .groups.flatMap(grantsOf)
      .map(({ waiterId }) => `${run} ${waiterId}`),
  );
  const waiters = new Set(grants).size;
  expect(waiters).toBeGreaterThan(30);
  expect(grants.length).toBeGreaterThan(waiters + 5);
});

test('no grant of a free lock passes over anybody alive who came before', () => {
  always((run) => {
    const known = calls(run);
    for (const group of run.groups) {
      const afterwards = new Set(group.after.map(({ ticket }) => ticket));
      for (const { resource, waiterId, revision } of grantsOf(group)) {
        if (isReacquired(run.log, resource, revision)) continue;
        const ticket = known.get(waiterId ?? '')?.ticket ?? -1n;
        const ahead = group.before.filter((waiter) => waiter.ticket < ticket && waiter.resources.includes(resource));
        expect(ahead.filter((waiter) => afterwards.has(waiter.ticket))).toEqual([]);
      }
    }
  });
});

test('nobody whose deadline has passed is granted anything', () => {
  always((run) => {
    const known = calls(run);
    for (const { waiterId, writtenAt } of run.log) {
      if (waiterId !== null) expect(known.get(waiterId)?.deadline).toBeGreaterThan(writtenAt);
    }
  });
});

test('nobody in line is granted anything but all that it asked for, once, with consecutive revisions', () => {
  always(({ log, groups }) => {
    const asked = new Map<string, readonly string[]>();
    for (const { commands } of groups) {
      for (const command of commands) {
        if (command.kind === 'acquire' && command.wait !== null) asked.set(command.wait.id, [command.resource]);
        if (command.kind === 'acquire-all' && command.wait !== null) asked.set(command.wait.id, command.resources);
      }
    }
    for (const id of new Set(log.flatMap(({ waiterId }) => waiterId ?? []))) {
      const first = log.findIndex(({ waiterId }) => waiterId === id);
      const resources = asked.get(id) ?? [];
      const block = log.slice(first, first + resources.length);
      expect(block.map(({ resource, waiterId }) => [resource, waiterId])).toEqual(resources.map((resource) => [resource, id]));
      expect(log.filter(({ waiterId }) => waiterId === id)).toHaveLength(resources.length);
    }
  });
});

test('once all that is due is settled, nobody alive waits for what it could have', () => {
  fc.assert(
    fc.property(script, (steps) => {
      runScript(steps, {
        afterStep: (store) => {
          const { rows, waiters, now } = store;
          const live = waiters.filter((waiter) => store.isLive(waiter));
          const settled = store.decide(store.due().map(expire), 'everything');
          const left = new Set(settled.left.map(({ id }) => id));
          const remaining = live.filter(({ id }) => !left.has(id));
          const held = (resource: string) => heldLock(settled.changedRows.get(resource) ?? rows.get(resource) ?? null, now);
          expect(remaining.filter((waiter) => waiter.resources.every((resource) => couldHave(waiter, resource)))).toEqual([]);

          function couldHave(waiter: Waiter, resource: string): boolean {
            const lock = held(resource);
            if (lock !== null) return waiter.ownTokens.includes(lock.fencingToken);
            return remaining.find(({ resources }) => resources.includes(resource)) === waiter;
          }
        },
      });
    }),
    { numRuns: 100 },
  );
});

test('as long as no instance dies, commands leave nothing behind for a sweep at the same moment', () => {
  fc.assert(
    fc.property(script, (steps) => {
      runScript(
        steps.map((step) => ({ ...step, deadInstances: [] })),
        {
          sweep: true,
          afterStep: (store) => expect(store.decide(store.due().map(expire), 'everything').events).toEqual([]),
        },
      );
    }),
    { numRuns: 100 },
  );
});

test('an acquire of several locks gets its turn after at most as many rounds as there were calls ahead of it', () => {
  const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(
      fc.array(names, { maxLength: 8 }),
      names,
      fc.array(names, { minLength: 1, maxLength: 5 }),
      (ahead, wanted, later) => {
        const store = new MemoryStore();
        const ask = (id: string, resources: readonly string[]) => acquireAll(resources, { owner: id, wait: waiting(id) });
        store.commit(['a', 'b', 'c', 'd'].map((resource) => acquire({ resource, owner: 'holder' })));
        store.commit(ahead.map((resources, index) => ask(`ahead ${index}`, resources)));
        store.commit([ask('patient', wanted)]);
        const isGranted = () => store.log.some(({ waiterId }) => waiterId === 'patient');
        for (let round = 0; round <= ahead.length; round++) {
          store.commit(later.map((resources, index) => ask(`later ${round} ${index}`, resources)));
          const held = [...store.rows.values()];
          store.commit(held.map(({ resource, owner }) => releaseAll([resource], { owner })));
        }
        expect(isGranted()).toBe(true);
      },
    ),
    { numRuns: 100 },
  );
});

function isReacquired(log: readonly LockEvent[], resource: string, revision: bigint): boolean {
  const previous = log.findLast((event) => event.resource === resource && event.revision < revision);
  return previous?.type === 'ACQUIRED' || previous?.type === 'RENEWED';
}
