import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { migratedDatabase } from '../../support/sqlite-files.js';

async function declarations(): Promise<string[]> {
  const database = new Database(await migratedDatabase());
  const sql = database.prepare('SELECT sql FROM sqlite_master WHERE sql IS NOT NULL').pluck().all() as string[];
  database.close();
  return sql;
}

test('the log is stored in the order of its revisions, and ids are never given out again', async () => {
  const sql = await declarations();
  expect(sql.find((text) => text.startsWith('CREATE TABLE "lock_events"'))).toMatch(
    /"revision" BIGINT NOT NULL PRIMARY KEY[^]*WITHOUT ROWID$/,
  );
  expect(sql.find((text) => text.startsWith('CREATE TABLE "distributed_locks"'))).toContain(
    '"id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT',
  );
});

test('requestIds are indexed where there is one', async () => {
  expect(await declarations()).toContainEqual(
    expect.stringMatching(/"lock_events_request_idx".*\nWHERE "request_id" IS NOT NULL AND "type" = 'ACQUIRED'$/),
  );
});
