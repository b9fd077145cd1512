import { resourcesOfAll, type Command } from '../../../src/locks/commands.js';
import { decideGroup } from '../../../src/locks/decide-group.js';
import { RetryMemory } from '../../../src/locks/retries.js';
import { storeIfUnchanged } from '../../../src/store/postgresql/store-if-unchanged.js';
import { readLocksOf, storeGroup, takeLock } from '../../../src/store/postgresql/group-sql.js';
import type { GroupToStore } from '../../../src/store/postgresql/group-to-store.js';
import { readWaiters } from '../../../src/store/postgresql/line-sql.js';
import { firstInLine } from '../../../src/store/postgresql/standing-reads.js';

/** A message of the simple protocol begins with its kind and its length, and ends with a NUL. */
const FRAME_BYTES = 6;

/** How long the first of two messages of a group is: after so many bytes the lock is taken, and nothing is stored. */
export function firstMessageBytes(...commands: readonly Command[]): number {
  const resources = resourcesOfAll(commands);
  const waiters = readWaiters(firstInLine(commands, resources, Date.now()));
  return Buffer.byteLength([takeLock(), waiters, readLocksOf(resources)].join('\n')) + FRAME_BYTES;
}

/**
 * How long the second of two messages of a group is, at the least, in a young log, where it names no lock that is held: it may
 * be some digits longer.
 */
export function secondMessageBytes(...commands: readonly Command[]): number {
  return Buffer.byteLength(storeGroup(decided(commands), 500, null)) + FRAME_BYTES;
}

/** The same for a group that takes one message. */
export function onlyMessageBytes(...commands: readonly Command[]): number {
  const toCompare = { commands, acquisitions: [], rememberedSince: 0 };
  return Buffer.byteLength(storeIfUnchanged(decided(commands), toCompare, 100, null)) + FRAME_BYTES;
}

function decided(commands: readonly Command[]): GroupToStore {
  const state = { revision: 1n, now: Date.now(), rows: new Map(), retries: new RetryMemory(), ticket: 0n, standing: null };
  const decision = decideGroup(state, commands);
  return { ...state, decision, logId: '0'.repeat(32), clock: state.now, isAnnounced: true, groupId: 1n };
}
