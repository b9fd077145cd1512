import type { Line, Waiter } from '../locks/waiter.js';

/** So many of a line are read first: mostly it is the turn of one of them. */
export const FIRST_IN_LINE = 8;

/** More than ever stand in one. */
export const WHOLE_LINE = 1_000_000;

/** What was read so far of those who stand in line: see {@link StandingWaiters}. */
export interface Standing {
  readonly lines: Map<string, Line>;
  readonly byOwner: Map<string, readonly Waiter[]>;
  readonly named: Waiter[];
}
