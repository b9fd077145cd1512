import { expect } from 'vitest';
import type { Engine } from '../../src/engine/engine.js';
import type { AcquireAllCommand, AcquireCommand } from '../../src/locks/commands.js';
import type { AcquireAllOutcome, AcquireOutcome } from '../../src/locks/outcomes.js';
import { acquire, acquireAll } from './commands.js';
import { runSql } from './sql.js';

/** Longer than any test takes. */
const LONG_MS = 60_000;

export interface WaitOptions extends Partial<Omit<AcquireCommand, 'wait'>> {
  readonly waitMs?: number | null;
  readonly detectDeadlock?: boolean;
  readonly caller?: AbortSignal;
}

/** Acquires, and stands in line if need be; left out: for longer than a test takes, by a caller that stays. */
export function wait(engine: Engine, resource: string, owner: string, options: WaitOptions = {}): Promise<AcquireOutcome> {
  const { waitMs = LONG_MS, detectDeadlock = false, caller = new AbortController().signal, ...rest } = options;
  return engine.acquire<AcquireCommand>(acquire(resource, owner, rest), { waitMs, detectDeadlock }, () => caller);
}

export function waitForAll(
  engine: Engine,
  resources: readonly string[],
  owner: string,
  { waitMs = LONG_MS, requestId = null, metadata = null }: Pick<WaitOptions, 'waitMs' | 'requestId' | 'metadata'> = {},
): Promise<AcquireAllOutcome> {
  const command = acquireAll(resources, owner, { requestId, metadata });
  const caller = new AbortController().signal;
  return engine.acquire<AcquireAllCommand>(command, { waitMs, detectDeadlock: false }, () => caller);
}

/** Resolves when so many places in line are taken. */
export async function inLine(databaseUrl: string, places: number): Promise<void> {
  await expect.poll(() => placesInLine(databaseUrl), { timeout: 10_000, interval: 20 }).toBe(places);
}

/** How many places are taken, as the lines and as the count of them say: the two must agree. */
export async function placesInLine(databaseUrl: string): Promise<number> {
  const [row] = await runSql(
    databaseUrl,
    'SELECT (SELECT count(*) FROM lock_waiters) AS places, (SELECT waiting FROM lock_tickets) AS counted',
  );
  expect(row?.['counted']).toBe(row?.['places']);
  return Number(row?.['places']);
}

/** What has happened to a lock so far: types and owners. */
export async function historyOf(databaseUrl: string, resource: string): Promise<string[]> {
  const sql = 'SELECT type, owner FROM lock_events WHERE resource = $1 ORDER BY revision';
  const rows = await runSql(databaseUrl, sql, [resource]);
  return rows.map((row) => `${String(row['type'])} ${String(row['owner'])}`);
}
