import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open-store.js';
import { ManualTime } from '../support/manual-time.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { describeDecisions } from './decisions.js';
import { describeReads } from './reads.js';
import { RETRY_WINDOW_MS, type StoreFixture } from './store-fixture.js';
import { describeTimeAndRetention } from './time-and-retention.js';

async function openFixture(): Promise<StoreFixture> {
  const file = join(temporaryDirectory(), 'locks.db');
  const time = new ManualTime();
  return {
    time,
    async open() {
      const store = await openStore({ databaseUrl: `file:${file}`, retryWindowMs: RETRY_WINDOW_MS, time: time.cells });
      onTestFinished(() => store.close());
      return store;
    },
    async setRevision(revision) {
      const db = new Database(file);
      db.prepare('UPDATE lock_clock SET revision = ?').run(revision);
      db.close();
    },
  };
}

describe('SQLite', () => {
  describe('decides', () => {
    describeDecisions(openFixture);
  });
  describe('reads', () => {
    describeReads(openFixture);
  });
  describe('keeps time and prunes', () => {
    describeTimeAndRetention(openFixture);
  });
});
