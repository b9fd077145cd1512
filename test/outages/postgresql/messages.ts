import { readLocksOf, takeLock } from '../../../src/store/postgresql/group-sql.js';

/** A message of the simple protocol begins with its kind and its length, and ends with a NUL. */
const FRAME_BYTES = 6;

/** How long the first message of a group is that acquires these: after so many bytes the lock is taken, and nothing is stored. */
export function firstMessageBytes(...resources: readonly string[]): number {
  return Buffer.byteLength([takeLock(), readLocksOf(resources)].join('\n')) + FRAME_BYTES;
}
