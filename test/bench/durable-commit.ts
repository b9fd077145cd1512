import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import { median, summary, type Measured } from './measure.js';

const COMMITS = 500;

/** One row changed and committed durably, alone, on SQLite. */
export function durableCommits(directory: string): Measured {
  const db = new Database(join(directory, 'bare.db'));
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('CREATE TABLE IF NOT EXISTS lock (id INTEGER PRIMARY KEY, owner TEXT)');
  const change = db.prepare('INSERT INTO lock VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET owner = excluded.owner');
  const startedAt = performance.now();
  const times = Array.from({ length: COMMITS }, (_, n) => timed(() => change.run(`owner:${n}`)));
  const measured = summary(times, performance.now() - startedAt);
  db.close();
  return measured;
}

/** The same on PostgreSQL, by a statement that is prepared: the median in milliseconds. */
export async function durableCommitOf(url: string): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('CREATE TABLE bare (id integer PRIMARY KEY, owner text)');
  const text = 'INSERT INTO bare VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET owner = excluded.owner';
  const times: number[] = [];
  for (let n = 0; n < COMMITS; n++) {
    const startedAt = performance.now();
    await client.query({ name: 'change', text, values: [`owner:${n}`] });
    times.push(performance.now() - startedAt);
  }
  await client.query('DROP TABLE bare');
  await client.end();
  return median(times);
}

function timed(work: () => unknown): number {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}
