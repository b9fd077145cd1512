import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { sqlitePath } from '../../src/store/database-url.js';
import { backUp } from '../../src/store/sqlite/backup.js';
import { createDatabase } from './database.js';

export interface Clock {
  readonly logId: string;
  readonly revision: bigint;
  readonly oldestRevision: bigint;
  readonly at: bigint;
}

export async function migratedDatabase(): Promise<string> {
  return sqlitePath(await createDatabase());
}

/** Open as a server has it open: until the test is over, or it is closed. */
export function use(path: string): Database.Database {
  const database = new Database(path);
  onTestFinished(() => {
    database.close();
  });
  database.pragma('journal_mode = WAL');
  database.prepare('SELECT * FROM lock_clock').get();
  return database;
}

export function setClock(path: string, revision: bigint, at: bigint): void {
  const database = new Database(path);
  database.prepare('UPDATE lock_clock SET revision = ?, at = ?').run(revision, at);
  database.close();
}

export function clockOf(path: string): Clock {
  const database = new Database(path, { fileMustExist: true });
  try {
    const select = 'SELECT log_id AS logId, revision, oldest_revision AS oldestRevision, at FROM lock_clock';
    return database.prepare(select).safeIntegers().get() as Clock;
  } finally {
    database.close();
  }
}

/** A database at revision 900 and time 9000, and a backup of it from revision 500 and time 5000. */
export async function databaseAndBackup(): Promise<{ path: string; backup: string }> {
  const path = await migratedDatabase();
  const backup = join(dirname(path), 'backup.db');
  setClock(path, 500n, 5000n);
  backUp(path, backup);
  setClock(path, 900n, 9000n);
  return { path, backup };
}

/** A process of its own that adds an event and its revision in one transaction, over and over, and says when it has begun. */
export async function startWriter(path: string): Promise<ChildProcess> {
  const script = `
    import Database from 'better-sqlite3';
    const database = new Database(${JSON.stringify(path)}, { timeout: 5000 });
    const clock = database.prepare('UPDATE lock_clock SET revision = revision + 1 RETURNING revision').pluck();
    const event = database.prepare("INSERT INTO lock_events VALUES (?, 0, 'ACQUIRED', 1, 1, 'a', 'b', 1, 1, 1, NULL, NULL)");
    const write = database.transaction(() => event.run(clock.get()));
    write();
    console.log('writing');
    for (;;) write();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  await once(child.stdout, 'data');
  return child;
}
