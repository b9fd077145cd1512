import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { httpApi, lockOf, type LockApi } from '../faults/lock-api.js';
import { createPostgresqlDatabase } from '../support/postgresql.js';
import { withClient } from '../support/postgresql/client.js';
import { startServerProcess } from '../support/server-process.js';
import { clockOffset } from './clock-offset.js';

const AHEAD_MS = 180_000;
const BEHIND_MS = -180_000;
/** As far as two questions on one machine may be apart. */
const CLOSE_MS = 2_000;
/** Within this a sweeper has looked for expired locks a hundred times. */
const SWEEPS_MS = 10_000;

interface Fixture {
  readonly ahead: LockApi;
  readonly behind: LockApi;
  /** Of the database, in epoch milliseconds. */
  databaseTime(): Promise<number>;
}

/** An instance whose clock is ahead and one whose clock is behind, on one database. */
async function startOffInstances(): Promise<Fixture> {
  const databaseUrl = await createPostgresqlDatabase();
  const start = async (offsetMs: number) => {
    const { url } = await startServerProcess({ DATABASE_URL: databaseUrl, ...clockOffset(offsetMs) });
    return httpApi(url);
  };
  const ahead = await start(AHEAD_MS);
  const behind = await start(BEHIND_MS);
  const databaseTime = () =>
    withClient(databaseUrl, async (client) => {
      const { rows } = await client.query<{ now: string }>('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now');
      return Number(rows[0]?.now);
    });
  return { ahead, behind, databaseTime };
}

async function timeTold(api: LockApi): Promise<number> {
  return Date.parse((await api.query<{ server: { now: string } }>('{ server { now } }')).server.now);
}

async function remainingTold(api: LockApi, resource: string): Promise<number> {
  const query = 'query ($resource: String!) { lock(resource: $resource) { remainingMs } }';
  return (await api.query<{ lock: { remainingMs: number } }>(query, { resource })).lock.remainingMs;
}

test(
  'a lock held through one of two instances whose clocks are minutes off is held, and lasts as long, through the other one',
  { timeout: 60_000 },
  async () => {
    const { ahead, behind, databaseTime } = await startOffInstances();
    for (const [one, other, resource] of [
      [ahead, behind, 'taken ahead'],
      [behind, ahead, 'taken behind'],
    ] as const) {
      const before = await databaseTime();
      const lock = lockOf(await one.acquire(resource, 'A', { ttlMs: 60_000 }));
      expect(Date.parse(lock.acquiredAt)).toBeGreaterThan(before - CLOSE_MS);
      expect(Date.parse(lock.acquiredAt)).toBeLessThan(before + CLOSE_MS);
      expect(Date.parse(lock.expiresAt) - Date.parse(lock.acquiredAt)).toBe(60_000);
      expect(await other.acquire(resource, 'B')).toMatchObject({
        __typename: 'Conflict',
        reason: 'HELD_BY_ANOTHER',
        current: lock,
      });
    }
    for (const api of [ahead, behind]) {
      expect(Math.abs((await timeTold(api)) - (await databaseTime()))).toBeLessThan(CLOSE_MS);
    }

    await sleep(SWEEPS_MS);
    for (const api of [ahead, behind]) {
      for (const resource of ['taken ahead', 'taken behind']) {
        expect(await api.lock(resource)).toMatchObject({ owner: 'A' });
        const remainingMs = await remainingTold(api, resource);
        expect(remainingMs).toBeGreaterThan(60_000 - SWEEPS_MS - CLOSE_MS);
        expect(remainingMs).toBeLessThanOrEqual(60_000 - SWEEPS_MS);
      }
      expect(await api.events({ types: ['EXPIRED'] })).toEqual([]);
    }
  },
);

test(
  'a lock that has expired is claimed through the other of two instances whose clocks are minutes off, and expired once',
  { timeout: 60_000 },
  async () => {
    const { ahead, behind } = await startOffInstances();
    await ahead.acquire('taken ahead', 'A', { ttlMs: 1_000 });
    await behind.acquire('taken behind', 'A', { ttlMs: 1_000 });
    for (const api of [ahead, behind]) {
      await expect.poll(() => api.events({ types: ['EXPIRED'] }), { timeout: 5_000 }).toHaveLength(2);
      expect(await api.locks()).toEqual([]);
    }
    for (const [api, resource] of [
      [behind, 'taken ahead'],
      [ahead, 'taken behind'],
    ] as const) {
      expect(await api.acquire(resource, 'B')).toMatchObject({
        __typename: 'LockAcquired',
        reacquired: false,
        lock: { owner: 'B' },
      });
      expect(await api.events({ resource })).toMatchObject([{ type: 'ACQUIRED' }, { type: 'EXPIRED' }, { type: 'ACQUIRED' }]);
    }
  },
);
