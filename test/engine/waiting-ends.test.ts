import { expect, it } from 'vitest';
import { INSTANCE_LEASE_MS } from '../../src/store/instance-lease.js';
import { PASSED_OVER_MS } from '../../src/store/retention.js';
import { acquire, release } from '../support/commands.js';
import { failLeaving } from '../support/database-faults.js';
import { startEngine, type EngineFixture } from '../support/engine.js';
import { insertRows, runSql } from '../support/sql.js';
import { historyOf, inLine, wait } from '../support/waiting.js';

const GONE = { name: 'StoreUnavailable', applied: false };
const UNKNOWN = { name: 'StoreUnavailable', applied: null };

/** The lock `r` is held by `a`. */
async function startHeld(): Promise<EngineFixture> {
  const fixture = await startEngine();
  await fixture.engine.submit(acquire('r', 'a'));
  return fixture;
}

it('a caller that is gone before its call comes gets nothing', async () => {
  const { engine, databaseUrl } = await startEngine();
  await expect(wait(engine, 'r', 'b', { caller: AbortSignal.abort() })).rejects.toMatchObject(GONE);
  expect(await historyOf(databaseUrl, 'r')).toEqual([]);
});

it('a caller that is gone before its call is decided does not stand in line', async () => {
  const { engine, databaseUrl } = await startHeld();
  const caller = new AbortController();
  const waiting = wait(engine, 'r', 'b', { caller: caller.signal });
  caller.abort();
  await expect(waiting).rejects.toMatchObject(GONE);
  await inLine(databaseUrl, 0);
});

it('a caller that is gone before a lock that is free is given to it does not keep it', async () => {
  const { engine, databaseUrl } = await startEngine();
  const caller = new AbortController();
  const waiting = wait(engine, 'r', 'b', { caller: caller.signal });
  caller.abort();
  await expect(waiting).rejects.toMatchObject(GONE);
  await expect.poll(() => historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED b', 'RELEASED b']);
});

it('a caller that goes while it stands in line makes room for the next', async () => {
  const { engine, databaseUrl } = await startHeld();
  const caller = new AbortController();
  const leaving = wait(engine, 'r', 'b', { caller: caller.signal });
  await inLine(databaseUrl, 1);
  const staying = wait(engine, 'r', 'c');
  await inLine(databaseUrl, 2);
  caller.abort();
  await expect(leaving).rejects.toMatchObject(GONE);
  await engine.submit(release('r', 'a'));
  expect(await staying).toMatchObject({ kind: 'acquired' });
  expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED a', 'RELEASED a', 'ACQUIRED c']);
});

it('a caller that goes at the very moment of its turn gives the lock back, and the next one has it', async () => {
  const { engine, databaseUrl } = await startHeld();
  const caller = new AbortController();
  const leaving = wait(engine, 'r', 'b', { caller: caller.signal });
  await inLine(databaseUrl, 1);
  const staying = wait(engine, 'r', 'c');
  await inLine(databaseUrl, 2);
  const released = engine.submit(release('r', 'a'));
  caller.abort();
  await expect(leaving).rejects.toMatchObject(UNKNOWN);
  await released;
  expect(await staying).toMatchObject({ kind: 'acquired' });
  expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED a', 'RELEASED a', 'ACQUIRED b', 'RELEASED b', 'ACQUIRED c']);
});

it('what a caller got with a requestId as it went is kept for the request that repeats it', async () => {
  const { engine, databaseUrl } = await startHeld();
  const caller = new AbortController();
  const leaving = wait(engine, 'r', 'b', { caller: caller.signal, requestId: 'q' });
  await inLine(databaseUrl, 1);
  const released = engine.submit(release('r', 'a'));
  caller.abort();
  await expect(leaving).rejects.toMatchObject(UNKNOWN);
  await released;
  expect(await wait(engine, 'r', 'b', { requestId: 'q' })).toMatchObject({ kind: 'acquired', lock: { fencingToken: 3n } });
  expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED a', 'RELEASED a', 'ACQUIRED b']);
});

it('a request that is repeated takes over the place of the call that waits, which is told so', async () => {
  const { engine, databaseUrl } = await startHeld();
  const earlier = wait(engine, 'r', 'b', { requestId: 'q' });
  await inLine(databaseUrl, 1);
  const behind = wait(engine, 'r', 'c');
  await inLine(databaseUrl, 2);
  const repeated = wait(engine, 'r', 'b', { requestId: 'q' });
  await expect(earlier).rejects.toMatchObject(UNKNOWN);
  await inLine(databaseUrl, 2);
  await engine.submit(release('r', 'a'));
  expect(await repeated).toMatchObject({ kind: 'acquired', lock: { fencingToken: 3n } });
  await engine.submit(release('r', 'b'));
  expect(await behind).toMatchObject({ kind: 'acquired', lock: { fencingToken: 5n } });
});

it('a request that is repeated at another instance takes over the place, and the earlier call ends without the lock', async () => {
  const here = await startHeld();
  const there = await startEngine({}, here);
  const earlier = wait(here.engine, 'r', 'b', { requestId: 'q', waitMs: 1500 });
  await inLine(here.databaseUrl, 1);
  const repeated = wait(there.engine, 'r', 'b', { requestId: 'q' });
  await expect(earlier).rejects.toMatchObject(UNKNOWN);
  await inLine(here.databaseUrl, 1);
  await here.engine.submit(release('r', 'a'));
  expect(await repeated).toMatchObject({ kind: 'acquired', lock: { fencingToken: 3n } });
});

it('an engine that closes tells those who wait to try elsewhere, and grants them nothing', async () => {
  const { engine, databaseUrl } = await startHeld();
  const waiting = ['b', 'c', 'd'].map((owner) => wait(engine, 'r', owner));
  await inLine(databaseUrl, 3);
  const ended = Promise.allSettled(waiting);
  await engine.stopWaiting();
  for (const result of await ended) expect(result).toMatchObject({ status: 'rejected', reason: GONE });
  await inLine(databaseUrl, 0);
  await expect(wait(engine, 'r', 'e')).rejects.toMatchObject(GONE);
  await engine.submit(release('r', 'a'));
  expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED a', 'RELEASED a']);
});

it('a turn of a call that is not known any more is undone at once, and the next one has it', async () => {
  const { engine, databaseUrl } = await startHeld();
  const first = new AbortController();
  const forgotten = wait(engine, 'r', 'b', { caller: first.signal });
  await inLine(databaseUrl, 1);
  const [place] = await runSql(databaseUrl, 'SELECT * FROM lock_waiters');
  first.abort();
  await expect(forgotten).rejects.toMatchObject(GONE);
  await insertRows(databaseUrl, 'lock_waiters', [{ ...plain(place), owner: 'ghost' }]);
  await runSql(databaseUrl, 'UPDATE lock_tickets SET waiting = 1');
  const staying = wait(engine, 'r', 'c');
  await inLine(databaseUrl, 2);
  await engine.submit(release('r', 'a'));
  expect(await staying).toMatchObject({ kind: 'acquired' });
  expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED a', 'RELEASED a', 'ACQUIRED ghost', 'RELEASED ghost', 'ACQUIRED c']);
});

it('a call that can not leave the line as the database fails does not know what it got, and leaves once it can', async () => {
  const { engine, databaseUrl } = await startHeld();
  // It tries for as long as it would have waited.
  const waiting = wait(engine, 'r', 'b', { waitMs: 1_500 });
  await inLine(databaseUrl, 1);
  const letLeave = await failLeaving(databaseUrl);
  await expect(waiting).rejects.toMatchObject(UNKNOWN);
  await inLine(databaseUrl, 1);
  await letLeave();
  await inLine(databaseUrl, 0);
});

it('a caller that goes as the database fails leaves the line once it can', async () => {
  const { engine, databaseUrl, observer } = await startHeld();
  const caller = new AbortController();
  const waiting = wait(engine, 'r', 'b', { caller: caller.signal, waitMs: null });
  await inLine(databaseUrl, 1);
  const letLeave = await failLeaving(databaseUrl);
  caller.abort();
  await expect(waiting).rejects.toMatchObject(UNKNOWN);
  await expect.poll(() => observer.errors.length).toBeGreaterThan(1);
  await letLeave();
  await inLine(databaseUrl, 0);
});

it('a call that waits as the database becomes another history does not know what it got, and stands in line no more', async () => {
  const { engine, databaseUrl } = await startHeld();
  const waiting = wait(engine, 'r', 'b');
  await inLine(databaseUrl, 1);
  const lost = expect(waiting).rejects.toMatchObject(UNKNOWN);
  await runSql(databaseUrl, "UPDATE lock_clock SET log_id = 'another', revision = 1000, oldest_revision = 1000");
  await engine.submit(acquire('other', 'a'));
  await lost;
  await inLine(databaseUrl, 0);
});

it('calls of an instance that was away until their places were removed are told so: their turn would never come', async () => {
  const { engine, databaseUrl, time } = await startHeld();
  const waiting = wait(engine, 'r', 'b', { waitMs: null });
  await inLine(databaseUrl, 1);
  time.advance(1);
  await expect.poll(() => aliveUntil(databaseUrl), { timeout: 10_000 }).toBe(time.wall + INSTANCE_LEASE_MS);
  const told = expect(waiting).rejects.toMatchObject(UNKNOWN);
  time.advance(INSTANCE_LEASE_MS + PASSED_OVER_MS);
  await told;
  await inLine(databaseUrl, 0);
});

/** Until when those who wait on the one instance that there is can have their turn. */
async function aliveUntil(databaseUrl: string): Promise<number> {
  const [row] = await runSql(databaseUrl, 'SELECT alive_until FROM lock_instances');
  return Number(row?.['alive_until']);
}

/** JSON has no bigint. */
function plain(row: object | undefined): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row ?? {}).map(([column, value]) => [column, typeof value === 'bigint' ? Number(value) : value]),
  );
}
