/**
 * Revisions in one segment of the log. The indexes of lock_events begin with the segment: a write touches only the
 * newest segment's part of them, which stays in memory however long the log is; a search goes segment by segment.
 * Smaller: more steps for a search. Larger: more pages for a group to write. Every row holds its segment: the number is
 * part of the schema.
 */
export const SEGMENT_REVISIONS = 4096n;

export function segmentOf(revision: bigint): bigint {
  return revision / SEGMENT_REVISIONS;
}
