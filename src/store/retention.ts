import type { RetentionPolicy } from './lock-store.js';

/** The oldest part of the log, as pruning looks at it. */
export interface OldestEvents {
  /** In revision order. */
  readonly events: readonly { readonly revision: bigint; readonly writtenAt: number }[];
  /** How many events the whole log has. */
  readonly total: number;
}

/**
 * The revision up to which these events may go; null: none may. An event goes when it is too old or when there are too
 * many, whichever comes first, but never within the retry window: the log is the memory of retries.
 */
export function prunableUpTo(
  { events, total }: OldestEvents,
  { eventAgeMs, eventRows }: RetentionPolicy,
  retryWindowMs: number,
  now: number,
): bigint | null {
  const excess = total - eventRows;
  let last: bigint | null = null;
  for (const [index, { revision, writtenAt }] of events.entries()) {
    const age = now - writtenAt;
    if (age <= retryWindowMs || (age <= eventAgeMs && index >= excess)) break;
    last = revision;
  }
  return last;
}
