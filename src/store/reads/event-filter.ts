import type { LockEventType } from '../../locks/events.js';
import type { LockSelector } from '../lock-store.js';

/** Which events; what is null does not narrow. */
export interface EventFilter extends LockSelector {
  readonly types: readonly LockEventType[] | null;
  readonly fencingToken: bigint | null;
  /** Epoch milliseconds of `at`, both included. */
  readonly since: number | null;
  readonly until: number | null;
}

/** Revisions, both included. */
export interface Revisions {
  readonly from: bigint;
  readonly to: bigint;
}
