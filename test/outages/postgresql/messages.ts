import type { Command } from '../../../src/locks/commands.js';
import { decideGroup } from '../../../src/locks/decide-group.js';
import { RetryMemory } from '../../../src/locks/retries.js';
import { readLocksOf, storeAssumed, takeLock } from '../../../src/store/postgresql/group-sql.js';

/** A message of the simple protocol begins with its kind and its length, and ends with a NUL. */
const FRAME_BYTES = 6;

/** How long the first of two messages is where a group acquires these: after so many bytes the lock is taken, and nothing is stored. */
export function firstMessageBytes(...resources: readonly string[]): number {
  return Buffer.byteLength([takeLock(), readLocksOf(resources)].join('\n')) + FRAME_BYTES;
}

/**
 * How long the message of a group is, at the least, that is stored with its first one, in a young log, and names no lock that is
 * held: it may be some digits longer.
 */
export function onlyMessageBytes(...commands: readonly Command[]): number {
  const rows = new Map();
  const now = Date.now();
  const decision = decideGroup({ revision: 1n, now, rows, retries: new RetryMemory() }, commands);
  const group = { decision, logId: '0'.repeat(32), revision: 1n, now, clock: now, rows, isAnnounced: true };
  const resources = [...new Set(commands.map(({ resource }) => resource))];
  return Buffer.byteLength(storeAssumed(group, { resources, acquisitions: [], rememberedSince: 0 }, 100)) + FRAME_BYTES;
}
