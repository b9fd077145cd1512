import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { resourcesOfAll, type Command } from '../../../src/locks/commands.js';
import { decideGroup } from '../../../src/locks/decide-group.js';
import type { LockEvent } from '../../../src/locks/events.js';
import type { GroupDecision } from '../../../src/locks/group.js';
import type { Lock } from '../../../src/locks/lock.js';
import { RetryMemory } from '../../../src/locks/retries.js';
import type { CommittedGroup } from '../../../src/store/lock-store.js';

/** A decision may rest on a time that is so much older than the moment at which it is stored; and a millisecond is not divided. */
const MAX_AGE_MS = 101;

/** A group, what came of it, and when that was. */
export interface Witnessed {
  readonly commands: readonly Command[];
  readonly committed: CommittedGroup;
  /** By the database's clock. */
  readonly begunAt: number;
  readonly endedAt: number;
  /** What was stored before it began, and what was stored when it had ended: the newest revisions. */
  readonly after: bigint;
  readonly upTo: bigint;
}

/** Between two groups. */
interface Situation {
  readonly revision: bigint;
  readonly rows: ReadonlyMap<string, Lock>;
  readonly history: readonly LockEvent[];
}

/**
 * The log consists of what the groups were told, one after the other, and each of them was told what the rules make of its
 * commands at its place in the log, at some moment while it was under way. Returns the rows that the log leaves.
 *
 * @param log all that was written behind the revision `before`, when there was nothing that these groups refer to
 */
export function expectImpliedByLog(
  log: readonly LockEvent[],
  before: bigint,
  groups: readonly Witnessed[],
): ReadonlyMap<string, Lock> {
  expect(log.map(({ revision }) => revision)).toEqual(log.map((_, index) => before + BigInt(index) + 1n));
  const first = (group: Witnessed): bigint => group.committed.events[0]?.revision ?? -1n;
  const changing = groups
    .filter(({ committed }) => committed.events.length > 0)
    .sort((one, other) => Number(first(one) - first(other)));
  expect(log).toEqual(changing.flatMap(({ committed }) => committed.events));

  const situations: Situation[] = [{ revision: before, rows: new Map(), history: [] }];
  for (const group of changing) {
    const situation = situations.at(-1) as Situation;
    const decision = decisionThatFits(group, [situation]);
    expect(told(decision), `the group at ${first(group)}`).toEqual(told(group.committed));
    situations.push(follow(situation, decision));
  }
  for (const group of groups.filter((each) => !changing.includes(each))) {
    const possible = situations.filter(({ revision }) => revision >= group.after && revision <= group.upTo);
    expect(told(decisionThatFits(group, possible)), `a group behind ${group.after}`).toEqual(told(group.committed));
  }
  return (situations.at(-1) as Situation).rows;
}

function told({ outcomes, events }: Pick<GroupDecision, 'outcomes' | 'events'>) {
  return { outcomes, events };
}

/** The decision at one of these places that is what the group was told; where none is, any other one. */
function decisionThatFits(group: Witnessed, situations: readonly Situation[]): GroupDecision {
  const decisions = situations.flatMap((situation) => momentsOf(group, situation).map((now) => decideAt(group, situation, now)));
  const fitting = decisions.find((decision) => isDeepStrictEqual(told(decision), told(group.committed)));
  return (fitting ?? decisions[0]) as GroupDecision;
}

/** The moments at which it may have been decided, one for each way in which that could have ended. */
function momentsOf({ commands, committed, begunAt, endedAt }: Witnessed, { rows }: Situation): number[] {
  const earliest = begunAt - MAX_AGE_MS;
  const own = committed.events.find(({ type }) => type !== 'EXPIRED');
  const expiries = resourcesOfAll(commands).flatMap((resource) => rows.get(resource)?.expiresAt ?? []);
  const moments = own === undefined ? [endedAt, earliest, ...expiries, ...expiries.map((expiry) => expiry - 1)] : [own.at];
  return moments.filter((moment) => moment >= earliest && moment <= endedAt);
}

/** Its events were written when they were. */
function decideAt({ commands, committed }: Witnessed, { revision, rows, history }: Situation, now: number): GroupDecision {
  const retries = new RetryMemory();
  for (const event of history) retries.learn(event);
  const decision = decideGroup({ revision, now, rows, retries, ticket: 0n, standing: null }, commands);
  const events = decision.events.map((event, n) => ({ ...event, writtenAt: committed.events[n]?.writtenAt ?? event.writtenAt }));
  return { ...decision, events };
}

function follow({ revision, rows, history }: Situation, { events, changedRows }: GroupDecision): Situation {
  const next = new Map(rows);
  for (const [resource, lock] of changedRows) {
    if (lock === null) next.delete(resource);
    else next.set(resource, lock);
  }
  return { revision: revision + BigInt(events.length), rows: next, history: [...history, ...events] };
}
