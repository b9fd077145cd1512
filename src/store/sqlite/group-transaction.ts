import { resourcesOfAll, type Command } from '../../locks/commands.js';
import { decideGroup, tryToDecide } from '../../locks/decide-group.js';
import type { GroupDecision, GroupState } from '../../locks/group.js';
import type { Lock } from '../../locks/lock.js';
import { RetryMemory } from '../../locks/retries.js';
import { DECISION_MAX_AGE_MS, MAX_DECISIONS } from '../decision-age.js';
import type { CommittedGroup } from '../lock-store.js';
import { retryLookups } from '../retry-lookups.js';
import { FIRST_IN_LINE, WHOLE_LINE, type Standing } from '../standing.js';
import { waiterLookups } from '../waiter-lookups.js';
import type { LineReads } from './line-statements.js';
import type { SharedClock } from './shared-clock.js';
import type { WriteConnection } from './write-connection.js';
import type { WriteStatements } from './write-statements.js';

interface Attempt {
  readonly decision: GroupDecision;
  readonly logId: string;
  readonly isFresh: boolean;
}

/** Decides and stores a group of commands in one transaction. */
export function commitGroup(
  connection: WriteConnection,
  clock: SharedClock,
  retryWindowMs: number,
  commands: readonly Command[],
): CommittedGroup {
  const startedAt = performance.now();
  const decide = (statements: WriteStatements) => decideAndWrite(statements, clock, retryWindowMs, commands);
  for (let attempt = 1; ; attempt++) {
    const accepts = ({ isFresh }: Attempt) => isFresh || attempt === MAX_DECISIONS;
    const result = connection.transaction(decide, accepts);
    if (accepts(result)) return committed(result, startedAt);
  }
}

function committed({ decision: { outcomes, events }, logId }: Attempt, startedAt: number): CommittedGroup {
  return { outcomes, events, logId, commitMs: performance.now() - startedAt };
}

function decideAndWrite(
  statements: WriteStatements,
  clock: SharedClock,
  retryWindowMs: number,
  commands: readonly Command[],
): Attempt {
  // The write lock is held by now, so no other process can be ahead of this moment once it is read.
  const { logId, revision, at, ticket, isWaitedFor } = statements.head();
  const now = clock.nowNotBefore(at);
  const resources = resourcesOfAll(commands);
  const rows = statements.locks.read(resources);
  const retries = readRetries(statements, commands, rows, now - retryWindowMs);
  const lines = statements.lines.reads();
  const standing = isWaitedFor ? readStanding(lines, resources, commands, now) : null;
  const state = { revision, now, rows, retries, ticket, standing };
  const decision = standing === null ? decideGroup(state, commands) : decideInLine(statements, lines, state, standing, commands);

  const { changedRows, events, joined, left } = decision;
  statements.locks.change(rows, changedRows);
  statements.appendEvents(events);
  if (joined.length + left.length > 0) statements.lines.change(left, joined, now);
  if (events.length > 0 || commands.length === 0) statements.advanceClock(revision + BigInt(events.length), now);
  return { decision, logId, isFresh: clock.now() - now <= DECISION_MAX_AGE_MS };
}

/** Reads, while it decides, whatever else turns out to matter. */
function decideInLine(
  statements: WriteStatements,
  lines: LineReads,
  state: GroupState & { readonly rows: Map<string, Lock> },
  standing: Standing,
  commands: readonly Command[],
): GroupDecision {
  const { rows, now } = state;
  for (;;) {
    const decision = tryToDecide(state, commands);
    if ('outcomes' in decision) return decision;
    for (const [resource, lock] of statements.locks.read(decision.resources)) rows.set(resource, lock);
    for (const resource of decision.resources) standing.lines.set(resource, lines.line(resource, now, WHOLE_LINE));
    for (const owner of decision.owners) standing.byOwner.set(owner, lines.ofOwner(owner, now));
  }
}

function readStanding(lines: LineReads, resources: readonly string[], commands: readonly Command[], now: number): Standing {
  const { places, calls } = waiterLookups(commands);
  // One command ends one wait, and may look at who is next then: seldom at anybody behind.
  const limit = commands.length === 1 ? 2 : FIRST_IN_LINE;
  return {
    lines: new Map(resources.map((resource) => [resource, lines.line(resource, now, limit)])),
    byOwner: new Map(),
    named: [...places.flatMap((place) => lines.at(place)), ...calls.flatMap((call) => lines.repeatedBy(call))],
  };
}

function readRetries(
  statements: WriteStatements,
  commands: readonly Command[],
  rows: ReadonlyMap<string, Lock>,
  rememberedSince: number,
): RetryMemory {
  const retries = new RetryMemory();
  const { acquisitions, releases } = retryLookups(commands, rows);
  for (const request of acquisitions) {
    const event = statements.acquisition(request, rememberedSince);
    if (event !== null) retries.learn(event);
  }
  for (const release of releases) {
    const event = statements.lastEventOfToken(release, rememberedSince);
    if (event !== null) retries.learn(event);
  }
  return retries;
}
