import type { Command } from '../../src/locks/commands.js';
import type { LockEvent } from '../../src/locks/events.js';
import type { GroupDecision } from '../../src/locks/group.js';
import type { Lock } from '../../src/locks/lock.js';
import type { Outcome } from '../../src/locks/outcomes.js';
import type { Waiter } from '../../src/locks/waiter.js';
import { expire } from '../support/lock-values.js';
import { LineModel } from './line-model.js';
import { RETRY_WINDOW_MS } from './lock-model.js';
import { MemoryStore, type Reading } from './memory-store.js';
import { prepare, type Call, type Prepared, type Step } from './scripts.js';

/** A group, and who stood in line before and after it, alive. */
export interface GroupRun {
  readonly commands: readonly Command[];
  readonly decision: GroupDecision;
  readonly before: readonly Waiter[];
  readonly after: readonly Waiter[];
}

/** What came of a script, by the rules and by the model. */
export interface ScriptRun {
  readonly outcomes: Outcome[];
  readonly expectedOutcomes: Outcome[];
  readonly groups: GroupRun[];
  readonly log: LockEvent[];
  readonly rows: Map<string, Lock>;
  readonly expectedRows: Map<string, Lock>;
  readonly waiters: readonly Waiter[];
  readonly expectedWaiters: readonly Waiter[];
  /** The resources whose rows were purged, with the revision after which it happened. */
  readonly purges: { readonly resource: string; readonly revision: number }[];
}

export interface Running {
  readonly groupsOf?: (commands: readonly Prepared[], groupSizes: readonly number[]) => readonly (readonly Prepared[])[];
  readonly reading?: Reading;
  /** Whether all that is due is settled at the beginning of each step. */
  readonly sweep?: boolean;
  readonly afterStep?: (store: MemoryStore) => void;
}

/** Runs the script as a store would: what outlives the groups is read for each. */
export function runScript(
  steps: readonly Step[],
  { groupsOf = inGroupsOfItsSizes, reading = 'everything', sweep = false, afterStep }: Running = {},
): ScriptRun {
  const store = new MemoryStore({ retryWindowMs: RETRY_WINDOW_MS });
  const model = new LineModel();
  const calls: Call[] = [];
  const run = { outcomes: [] as Outcome[], expectedOutcomes: [] as Outcome[], groups: [] as GroupRun[] };
  const purges: ScriptRun['purges'] = [];
  const alive = () => store.waiters.filter((waiter) => store.isLive(waiter));

  const commit = (group: readonly Prepared[]) => {
    model.startGroup(store.now, new Set(group.flatMap(({ resources }) => resources)));
    const commands = group.map((prepared) => {
      const command = prepared.resolve(model);
      run.expectedOutcomes.push(model.answer(command));
      return command;
    });
    const before = alive();
    const decision = store.commit(commands, reading);
    run.outcomes.push(...decision.outcomes);
    run.groups.push({ commands, decision, before, after: alive() });
  };

  for (const step of steps) {
    store.now += step.advanceMs;
    for (const dead of [store.deadInstances, model.deadInstances]) {
      dead.clear();
      for (const instance of step.deadInstances) dead.add(instance);
    }
    if (sweep) commit(store.due().map((resource) => ({ resources: [resource], resolve: () => expire(resource) })));
    for (const group of groupsOf(prepare(step, calls), step.groupSizes)) commit(group);
    afterStep?.(store);
    if (step.purge) purge(store, model, purges);
  }
  const expectedRows = new Map<string, Lock>();
  for (const [resource, entry] of Object.entries(model.locks.entries)) if (entry !== undefined) expectedRows.set(resource, entry);
  const { log, rows, waiters } = store;
  return { ...run, log, rows, expectedRows, waiters, expectedWaiters: model.waiters, purges };
}

export function asOneGroup(commands: readonly Prepared[]): (readonly Prepared[])[] {
  return [commands];
}

export function inGroupsOfItsSizes(commands: readonly Prepared[], groupSizes: readonly number[]): (readonly Prepared[])[] {
  const groups: (readonly Prepared[])[] = [];
  let start = 0;
  for (const size of groupSizes) {
    groups.push(commands.slice(start, start + size));
    start += size;
  }
  return [...groups, commands.slice(start)];
}

function purge(store: MemoryStore, model: LineModel, purges: ScriptRun['purges']) {
  model.locks.purge();
  model.purge();
  store.waiters = store.waiters.filter((waiter) => store.isLive(waiter));
  for (const [resource, row] of store.rows) {
    if (!row.expiryRecorded) continue;
    store.rows.delete(resource);
    purges.push({ resource, revision: store.log.length });
  }
}
