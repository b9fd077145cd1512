import type { Command } from './commands.js';
import { decide, settle } from './decide.js';
import type { LockEvent } from './events.js';
import type { Lock } from './lock.js';
import type { Outcome } from './outcomes.js';
import type { RetryMemory } from './retries.js';

/** What a group of commands makes of the resources it names. */
export interface GroupDecision {
  /** One for each command, in their order. */
  readonly outcomes: readonly Outcome[];
  /** In revision order, numbered without a gap from the group's first revision on. */
  readonly events: readonly LockEvent[];
  /** The final row of each resource that changed; null: its row is gone. */
  readonly changedRows: ReadonlyMap<string, Lock | null>;
}

/** What the store read before the group, under its lock. */
export interface GroupState {
  /** The newest revision before the group. */
  readonly revision: bigint;
  readonly now: number;
  /** The row of every resource that the group names; left out where there is none. */
  readonly rows: ReadonlyMap<string, Lock>;
  /** The events of the retry window that the group's commands may refer to. It learns the group's own. */
  readonly retries: RetryMemory;
}

/**
 * Decides the commands one after the other, each seeing what those before it did. First it settles what they touch: a
 * passed expiry that is not recorded yet gets its EXPIRED before the first command.
 */
export function decideGroup(state: GroupState, commands: readonly Command[]): GroupDecision {
  const { now, retries } = state;
  const rows = new Map<string, Lock | null>(state.rows);
  const changedRows = new Map<string, Lock | null>();
  const events: LockEvent[] = [];
  const outcomes: Outcome[] = [];

  const nextMoment = () => ({ now, revision: state.revision + BigInt(events.length) + 1n });
  const record = (resource: string, row: Lock | null, event: LockEvent) => {
    rows.set(resource, row);
    changedRows.set(resource, row);
    events.push(event);
    retries.learn(event);
  };

  for (const resource of new Set(commands.map((command) => command.resource))) {
    const settled = settle(rows.get(resource) ?? null, nextMoment());
    if (settled !== null) record(resource, settled.row, settled.event);
  }
  for (const command of commands) {
    const decision = decide(rows.get(command.resource) ?? null, command, retries, nextMoment());
    outcomes.push(decision.outcome);
    if (decision.event !== null) record(command.resource, decision.row, decision.event);
  }
  return { outcomes, events, changedRows };
}
