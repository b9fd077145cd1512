import Database from 'better-sqlite3';
import { segmentOf } from '../../src/store/log-segments.js';
import { acquire } from '../support/commands.js';
import { commitGroup, openStore, SharedClock, systemTime, WriteConnection } from './built.js';

const RETRY_WINDOW_MS = 600_000;
const DAY_MS = 86_400_000;
export const HELD_OWNERS = 1000;

/** Names whose order has nothing to do with the order in which they were made. */
export const scatteredName = (i: number) => `job:${((i * 2_654_435_761) % 4_294_967_296).toString(16).padStart(8, '0')}:${i}`;
export const holderOf = (i: number) => `owner:${i % HELD_OWNERS}`;

/** A database whose log has so many events, of locks that were released long ago. */
export async function fillLog(file: string, events: number): Promise<void> {
  await (await openStore({ databaseUrl: `file:${file}`, retryWindowMs: RETRY_WINDOW_MS })).close();
  const db = new Database(file);
  db.pragma('synchronous = OFF');
  const insert = db.prepare(
    `INSERT INTO lock_events (revision, segment, type, at, written_at, resource, owner, fencing_token, acquired_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const at = Date.now();
  db.transaction(() => {
    for (let i = 1; i <= events; i += 2) {
      const name = scatteredName(i);
      for (const [revision, type] of [[i, 'ACQUIRED'] as const, [i + 1, 'RELEASED'] as const]) {
        insert.run(revision, segmentOf(BigInt(revision)), type, at, at, name, holderOf(i), i, at, at + DAY_MS);
      }
    }
    db.prepare('UPDATE lock_clock SET revision = ?, at = ?').run(events, at);
  })();
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

/** Acquires the locks with these numbers for a day. */
export function fillLocks(file: string, from: number, to: number): void {
  const connection = new WriteConnection(file);
  const clock = new SharedClock(systemTime);
  const GROUP = 10_000;
  for (let start = from; start < to; start += GROUP) {
    const numbers = Array.from({ length: Math.min(GROUP, to - start) }, (_, i) => start + i);
    commitGroup(
      connection,
      clock,
      RETRY_WINDOW_MS,
      numbers.map((i) => acquire(scatteredName(i), holderOf(i), { ttlMs: DAY_MS })),
    );
  }
  connection.close();
}
