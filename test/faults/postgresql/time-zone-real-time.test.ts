import { expect, test } from 'vitest';
import { createPostgresqlDatabase } from '../../support/postgresql.js';
import { startServerProcess } from '../../support/server-process.js';
import { runSql } from '../../support/sql.js';
import { brief } from '../log-checks.js';
import { httpApi, lockOf } from '../lock-api.js';

const TTL_MS = 1_500;
/** How far two readings of the one clock may be apart: the time that an answer takes. */
const TOLERANCE_MS = 1_000;

test.each(['America/New_York', 'Asia/Tokyo', 'UTC'])(
  'in a database whose time zone is %s, a server in another one grants, tells and ends locks at the true moments',
  async (zone) => {
    const databaseUrl = await createPostgresqlDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    await runSql(databaseUrl, `ALTER DATABASE ${name} SET timezone TO '${zone}'`);
    const api = httpApi((await startServerProcess({ DATABASE_URL: databaseUrl, TZ: 'Asia/Kolkata' })).url);

    const { acquiredAt, expiresAt } = lockOf(await api.acquire('r', 'A', { ttlMs: TTL_MS }));
    expect(Math.abs(Date.parse(acquiredAt) - Date.now())).toBeLessThan(TOLERANCE_MS);
    expect(Date.parse(expiresAt) - Date.parse(acquiredAt)).toBe(TTL_MS);
    expect(await api.acquire('r', 'B')).toMatchObject({ reason: 'HELD_BY_ANOTHER', current: { expiresAt } });
    expect(await api.lock('r')).toMatchObject({ acquiredAt, expiresAt });
    const row = `SELECT expires_at FROM distributed_locks WHERE to_timestamp(expires_at / 1000.0) - now() BETWEEN '0 s' AND '${TTL_MS} ms'`;
    expect(await runSql(databaseUrl, row)).toEqual([{ expires_at: BigInt(Date.parse(expiresAt)) }]);

    const takeOver = async () => (await api.acquire('r', 'B')).lock;
    await expect.poll(takeOver, { interval: 20, timeout: 5_000 }).toMatchObject({ owner: 'B' });
    const [, expired, taken] = await api.events();
    expect([expired, taken].map((event) => brief(event!))).toEqual(['EXPIRED r A', 'ACQUIRED r B']);
    expect(expired?.at).toBe(expiresAt);
    const lateMs = Date.parse(taken?.at ?? '') - Date.parse(expiresAt);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(TOLERANCE_MS);
  },
);
