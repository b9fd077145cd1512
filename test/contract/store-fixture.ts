import { onTestFinished } from 'vitest';
import type { LockStore } from '../../src/store/lock-store.js';
import { openStore } from '../../src/store/open-store.js';
import { ManualTime } from '../support/manual-time.js';
import { runSql } from '../support/sql.js';

/** One empty database of a kind, for one test. */
export interface StoreFixture {
  readonly time: ManualTime;
  /** Opens one more instance on the same database; closed when the test is over. */
  open(): Promise<LockStore>;
  /** How many places in line the database counts, and how many there are. */
  waiting(): Promise<{ counted: bigint; present: bigint }>;
  /** Sets the newest revision by hand, as if so many changes had been made. */
  setRevision(revision: bigint): Promise<void>;
}

export const RETRY_WINDOW_MS = 600_000;
export type OpenFixture = () => Promise<StoreFixture>;

export const everything = { resource: null, prefix: null, owner: null };

export function fixtureOn(databaseUrl: string): StoreFixture {
  const time = new ManualTime();
  return {
    time,
    async open() {
      const store = await openStore({ databaseUrl, retryWindowMs: RETRY_WINDOW_MS, time: time.cells });
      onTestFinished(() => store.close());
      return store;
    },
    async waiting() {
      const [row] = await runSql(
        databaseUrl,
        'SELECT waiting AS counted, (SELECT count(*) FROM lock_waiters) AS present FROM lock_tickets',
      );
      return row as { counted: bigint; present: bigint };
    },
    async setRevision(revision) {
      await runSql(databaseUrl, 'UPDATE lock_clock SET revision = $1', [revision]);
    },
  };
}
