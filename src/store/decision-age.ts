/** A decision that was made longer ago than this before it is stored is made again: the process may have been frozen. */
export const DECISION_MAX_AGE_MS = 500;

/** Where every attempt is late, a late decision is better than none: its leases are short, not wrong. */
export const MAX_DECISIONS = 3;
