import type { LockStore } from '../../src/store/lock-store.js';
import type { ManualTime } from '../support/manual-time.js';

/** One empty database of a kind, for one test. */
export interface StoreFixture {
  readonly time: ManualTime;
  /** Opens one more instance on the same database; closed when the test is over. */
  open(): Promise<LockStore>;
  /** Sets the newest revision by hand, as if so many changes had been made. */
  setRevision(revision: bigint): Promise<void>;
}

export const RETRY_WINDOW_MS = 600_000;
export type OpenFixture = () => Promise<StoreFixture>;

export const everything = { resource: null, prefix: null, owner: null };
