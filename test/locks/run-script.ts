import { decideGroup } from '../../src/locks/decide-group.js';
import type { LockEvent } from '../../src/locks/events.js';
import type { Lock } from '../../src/locks/lock.js';
import type { Outcome } from '../../src/locks/outcomes.js';
import { RetryMemory } from '../../src/locks/retries.js';
import { LockModel, RETRY_WINDOW_MS } from './lock-model.js';
import { resolve, type ScriptCommand, type Step } from './scripts.js';

/** What came of a script, by the rules and by the model. */
export interface ScriptRun {
  readonly outcomes: Outcome[];
  readonly expectedOutcomes: Outcome[];
  readonly log: LockEvent[];
  readonly rows: Map<string, Lock>;
  readonly expectedRows: Map<string, Lock>;
  /** The resources whose rows were purged, with the revision after which it happened. */
  readonly purges: { readonly resource: string; readonly revision: number }[];
}

/** Runs the script as a store would: rows and log outlive the groups, the retry memory is loaded for each. */
export function runScript(steps: readonly Step[], groupsOf: (step: Step) => readonly (readonly ScriptCommand[])[]): ScriptRun {
  const model = new LockModel();
  const run: ScriptRun = { outcomes: [], expectedOutcomes: [], log: [], rows: new Map(), expectedRows: new Map(), purges: [] };
  let now = 1_000;
  for (const step of steps) {
    now += step.advanceMs;
    for (const group of groupsOf(step)) runGroup(run, model, group, now);
    if (step.purge) purge(run, model);
  }
  for (const [resource, entry] of Object.entries(model.entries)) if (entry !== undefined) run.expectedRows.set(resource, entry);
  return run;
}

export function asOneGroup({ commands }: Step): (readonly ScriptCommand[])[] {
  return [commands];
}

export function inGroupsOfItsSizes({ commands, groupSizes }: Step): (readonly ScriptCommand[])[] {
  const groups: (readonly ScriptCommand[])[] = [];
  let start = 0;
  for (const size of groupSizes) {
    groups.push(commands.slice(start, start + size));
    start += size;
  }
  return [...groups, commands.slice(start)];
}

function runGroup(
  { outcomes, expectedOutcomes, log, rows }: ScriptRun,
  model: LockModel,
  group: readonly ScriptCommand[],
  now: number,
) {
  const named = new Set(group.map(({ resource }) => resource));
  model.startGroup(now, named);
  const commands = group.map((scripted) => {
    const command = resolve(scripted, model);
    expectedOutcomes.push(model.answer(command));
    return command;
  });

  const retries = new RetryMemory();
  for (const event of log) if (now - event.writtenAt < RETRY_WINDOW_MS) retries.learn(event);
  const namedRows = new Map([...rows].filter(([resource]) => named.has(resource)));
  const decided = decideGroup({ revision: BigInt(log.length), now, rows: namedRows, retries }, commands);

  outcomes.push(...decided.outcomes);
  log.push(...decided.events);
  for (const [resource, row] of decided.changedRows) {
    if (row === null) rows.delete(resource);
    else rows.set(resource, row);
  }
}

function purge({ log, rows, purges }: ScriptRun, model: LockModel) {
  model.purge();
  for (const [resource, row] of rows) {
    if (!row.expiryRecorded) continue;
    rows.delete(resource);
    purges.push({ resource, revision: log.length });
  }
}
