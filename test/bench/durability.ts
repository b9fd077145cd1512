import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acquire } from '../support/commands.js';
import { benchDirectory, table, whole } from './measure.js';
import { commitGroup, openStore, SharedClock, systemTime, WriteConnection } from './built.js';

const GROUPS = 500;

/** Counts, from outside, how often a process that commits groups makes the kernel wait for the disk. */
export async function benchDurability(): Promise<void> {
  const directory = benchDirectory();
  try {
    const file = join(directory.path, 'locks.db');
    await (await openStore({ databaseUrl: `file:${file}`, retryWindowMs: 600_000 })).close();
    const trace = join(directory.path, 'trace');
    const script = fileURLToPath(new URL('main.ts', import.meta.url));
    const calls = 'trace=fsync,fdatasync';
    const args = ['-f', '-e', calls, '-o', trace, process.execPath, '--import', 'tsx', script, 'durability', file];
    const { status, error } = spawnSync('strace', args, { stdio: ['ignore', 'ignore', 'inherit'] });
    if (error !== undefined || status !== 0) throw new Error('strace has to be installed', { cause: error });
    const syncs = readFileSync(trace, 'utf8').match(/\b(fsync|fdatasync)\(/g)?.length ?? 0;
    console.log('\nDurability\n');
    console.log(table(['groups committed', 'waits for the disk'], [[whole(GROUPS), whole(syncs)]]));
  } finally {
    directory.remove();
  }
}

/** What runs under strace. */
export function commitGroups(file: string): void {
  const connection = new WriteConnection(file);
  const clock = new SharedClock(systemTime);
  for (let i = 0; i < GROUPS; i++) commitGroup(connection, clock, 600_000, [acquire(`r:${i % 10}`, 'o')]);
  connection.close();
}
