/** Whoever was passed over for so long, in milliseconds, has gone: an instance that comes back sooner finds its waiters in line. */
export const PASSED_OVER_MS = 60_000;

/** The oldest part of the log, as pruning looks at it. */
export interface OldestEvents {
  /** In revision order. */
  readonly events: readonly { readonly revision: bigint; readonly writtenAt: number }[];
  /** Where this history begins: what lies below is what a restore left of an earlier one. */
  readonly oldestRevision: bigint;
  /** How many events this history has beyond what is to be kept; zero or less: none. */
  readonly excess: number;
}

/**
 * The revision up to which these events may go; null: none may. An event goes when it is too old or when there are too
 * many, whichever comes first, but never within the retry window: the log is the memory of retries.
 */
export function prunableUpTo(
  { events, oldestRevision, excess }: OldestEvents,
  eventAgeMs: number,
  retryWindowMs: number,
  now: number,
): bigint | null {
  let last: bigint | null = null;
  for (const { revision, writtenAt } of events) {
    const age = now - writtenAt;
    if (age <= retryWindowMs || (age <= eventAgeMs && revision > oldestRevision + BigInt(Math.max(excess, 0)))) break;
    last = revision;
  }
  return last;
}
