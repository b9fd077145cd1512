import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { MIGRATIONS_ROOT } from '../../src/store/migrations/migration-folders.js';
import { applyMigrations } from '../../src/store/migrations.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const BUILT = new URL('../../dist/store/migrations.js', import.meta.url).href;
const ALL = readdirSync(join(MIGRATIONS_ROOT, 'sqlite/migrations'))
  .filter((name) => /^\d/.test(name))
  .sort();

/** A process of its own that brings the database up to date, and prints what it applied. */
function startMigrating(url: string, root: string = MIGRATIONS_ROOT) {
  const script = `
    import { applyMigrations } from ${JSON.stringify(BUILT)};
    console.log(JSON.stringify(await applyMigrations(${JSON.stringify(url)}, ${JSON.stringify(root)})));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

/** The migrations as they are, the first of them followed by minutes of work. */
function withSlowMigration(): string {
  const root = temporaryDirectory();
  cpSync(MIGRATIONS_ROOT, root, { recursive: true });
  const folder = join(root, 'sqlite/migrations/20270101000000_slow');
  mkdirSync(folder);
  const work = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000000) SELECT count(*) FROM n';
  writeFileSync(join(folder, 'migration.sql'), `BEGIN;\nCREATE TABLE slow (id INTEGER);\nINSERT INTO slow ${work};\nCOMMIT;\n`);
  return root;
}

async function untilLocked(path: string): Promise<void> {
  for (;;) {
    const database = new Database(path, { timeout: 0 });
    try {
      database.exec('BEGIN IMMEDIATE; ROLLBACK');
    } catch {
      return;
    } finally {
      database.close();
    }
    await sleep(5);
  }
}

test('five processes that start at once on no database all succeed, and one of them creates it', async () => {
  const path = join(temporaryDirectory(), 'holdfast.db');
  const children = Array.from({ length: 5 }, () => startMigrating(`file:${path}`));
  const answers = await Promise.all(children.map((child) => text(child.stdout)));
  expect(answers.map((answer) => JSON.parse(answer) as string[]).sort()).toEqual([[], [], [], [], ALL]);
});

test('five starts at once within one process do not wait for each other for ever', async () => {
  const url = `file:${join(temporaryDirectory(), 'holdfast.db')}`;
  const applied = await Promise.all(Array.from({ length: 5 }, () => applyMigrations(url)));
  expect(applied.flat()).toEqual(ALL);
});

test('a process killed in the middle of a migration leaves the database as it was, and the next one migrates it', async () => {
  const path = join(temporaryDirectory(), 'holdfast.db');
  new Database(path).pragma('journal_mode = WAL');
  const child = startMigrating(`file:${path}`, withSlowMigration());
  await untilLocked(path);
  await sleep(500);
  child.kill('SIGKILL');
  await once(child, 'exit');

  const database = new Database(path);
  expect(database.prepare('SELECT count(*) FROM sqlite_master').pluck().get()).toBe(0);
  database.close();
  expect(await applyMigrations(`file:${path}`)).toEqual(ALL);
});
