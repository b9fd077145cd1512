import type { Command } from '../../locks/commands.js';
import { decideGroup, type GroupDecision } from '../../locks/decide-group.js';
import type { Lock } from '../../locks/lock.js';
import { RetryMemory } from '../../locks/retries.js';
import { DECISION_MAX_AGE_MS, MAX_DECISIONS } from '../decision-age.js';
import type { CommittedGroup } from '../lock-store.js';
import { retryLookups } from '../retry-lookups.js';
import type { SharedClock } from './shared-clock.js';
import type { WriteConnection } from './write-connection.js';
import type { WriteStatements } from './write-statements.js';

interface Attempt extends GroupDecision {
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
  for (let attempt = 1; ; attempt++) {
    const accepts = ({ isFresh }: Attempt) => isFresh || attempt === MAX_DECISIONS;
    const result = connection.transaction((statements) => decideAndWrite(statements, clock, retryWindowMs, commands), accepts);
    if (accepts(result)) {
      const { outcomes, events, logId } = result;
      return { outcomes, events, logId, commitMs: performance.now() - startedAt };
    }
  }
}

function decideAndWrite(
  statements: WriteStatements,
  clock: SharedClock,
  retryWindowMs: number,
  commands: readonly Command[],
): Attempt {
  // The write lock is held by now, so no other process can be ahead of this moment once it is read.
  const { log_id: logId, revision, at } = statements.readClock();
  const now = clock.nowNotBefore(Number(at));
  const rows = readRows(statements, commands);
  const retries = readRetries(statements, commands, rows, now - retryWindowMs);
  const decision = decideGroup({ revision, now, rows, retries }, commands);

  for (const [resource, lock] of decision.changedRows) statements.replaceLock(resource, rows.get(resource) ?? null, lock);
  for (const event of decision.events) statements.appendEvent(event);
  if (decision.events.length > 0 || commands.length === 0) statements.advanceClock(revision + BigInt(decision.events.length), now);
  return { ...decision, logId, isFresh: clock.now() - now <= DECISION_MAX_AGE_MS };
}

function readRows(statements: WriteStatements, commands: readonly Command[]): Map<string, Lock> {
  const rows = new Map<string, Lock>();
  for (const { resource } of commands) {
    if (rows.has(resource)) continue;
    const lock = statements.lock(resource);
    if (lock !== null) rows.set(resource, lock);
  }
  return rows;
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
