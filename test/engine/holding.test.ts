import { afterEach, expect, it, vi } from 'vitest';
import type { Engine } from '../../src/engine/engine.js';
import type { HoldRequest } from '../../src/engine/hold.js';
import type { HoldUpdate } from '../../src/engine/hold-updates.js';
import { acquire, release, renew } from '../support/commands.js';
import { failWrites } from '../support/database-faults.js';
import { startEngine, type EngineFixture } from '../support/engine.js';
import { historyOf, inLine, wait } from '../support/waiting.js';

type Holding = AsyncIterableIterator<HoldUpdate>;

const TTL_MS = 9000;
const CUT_OFF = () => false;
const COMPLETED = () => true;

afterEach(() => void vi.useRealTimers());

function hold(engine: Engine, rest: Partial<HoldRequest> = {}, hasCompleted = CUT_OFF): Holding {
  const request = { resource: 'r', owner: 'a', ttlMs: TTL_MS, waitMs: null, fencingToken: null, metadata: null, ...rest };
  return engine.hold(request, hasCompleted);
}

async function next(holding: Holding): Promise<HoldUpdate> {
  const { value } = await holding.next();
  if (value === undefined) throw new Error('It has ended');
  return value;
}

/** Time passes for the database and for all timers. */
async function pass({ time }: EngineFixture, ms: number): Promise<void> {
  time.advance(ms);
  await vi.advanceTimersByTimeAsync(ms);
}

/** A hold that has its lock, in a time that only the test moves. */
async function startHolding(rest: Partial<HoldRequest> = {}, hasCompleted = CUT_OFF) {
  const fixture = await startEngine();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const holding = hold(fixture.engine, rest, hasCompleted);
  const acquired = await next(holding);
  // It has asked for the time as well, before, and then sets its timers by it.
  await fixture.engine.now();
  return { fixture, holding, acquired };
}

it('a lock that is free is held at once', async () => {
  const { engine } = await startEngine();
  const holding = hold(engine, { metadata: '1' });
  expect(await next(holding)).toMatchObject({ kind: 'acquired', reacquired: false, lock: { fencingToken: 1n, metadata: '1' } });
  await holding.return?.();
});

it('a lock is renewed each time a third of its TTL has passed', async () => {
  const { fixture, holding } = await startHolding();
  for (let renewal = 1; renewal <= 3; renewal++) {
    await pass(fixture, TTL_MS / 3);
    expect(await next(holding)).toMatchObject({
      kind: 'renewed',
      lock: { fencingToken: 1n, expiresAt: fixture.time.wall + TTL_MS },
    });
  }
  expect(await historyOf(fixture.databaseUrl, 'r')).toEqual(['ACQUIRED a', 'RENEWED a', 'RENEWED a', 'RENEWED a']);
  await holding.return?.();
});

it('a lock whose renewals fail for a while is not lost, and is renewed once the database answers', async () => {
  const { fixture, holding } = await startHolding();
  const letWrite = await failWrites(fixture.databaseUrl);
  const failures = fixture.observer.errors.length;
  await pass(fixture, TTL_MS / 3);
  await expect.poll(() => fixture.observer.errors.length).toBeGreaterThan(failures);
  await letWrite();
  await pass(fixture, TTL_MS / 3);
  expect(await next(holding)).toMatchObject({ kind: 'renewed', lock: { fencingToken: 1n } });
  await holding.return?.();
});

it('a lock that could not be renewed for its whole TTL is lost as expired', async () => {
  const { fixture, holding } = await startHolding();
  const letWrite = await failWrites(fixture.databaseUrl);
  await pass(fixture, TTL_MS);
  expect(await next(holding)).toEqual({ kind: 'hold-lost', resource: 'r', fencingToken: 1n, cause: 'EXPIRED' });
  expect(await holding.next()).toEqual({ done: true, value: undefined });
  await letWrite();
});

it('a lock that somebody who names its owner renews for longer is lost only when that time has passed', async () => {
  const { fixture, holding } = await startHolding();
  const { engine } = fixture;
  const watch = engine.watch({
    selector: { resource: 'r', prefix: null, owner: null },
    types: null,
    after: 1n,
    logId: null,
    snapshot: true,
  });
  await engine.submit(renew('r', 'a', { ttlMs: 3 * TTL_MS }));
  // Whoever watches longer is told first.
  await watch.next();
  await watch.return?.();
  const letWrite = await failWrites(fixture.databaseUrl);
  const told = next(holding);
  await pass(fixture, 3 * TTL_MS - 1);
  expect(await Promise.race([told, Promise.resolve('nothing yet')])).toBe('nothing yet');
  await pass(fixture, 1);
  expect(await told).toMatchObject({ kind: 'hold-lost', cause: 'EXPIRED' });
  await letWrite();
});

it('a lock that another instance renews for longer is lost only when that time has passed, though its own renewal tells so first', async () => {
  const { fixture, holding } = await startHolding();
  const there = await startEngine({}, fixture);
  await there.engine.submit(renew('r', 'a', { ttlMs: 3 * TTL_MS }));
  await pass(fixture, TTL_MS / 3);
  expect(await next(holding)).toMatchObject({ kind: 'renewed', lock: { fencingToken: 1n } });
  const letWrite = await failWrites(fixture.databaseUrl);
  const told = next(holding);
  await pass(fixture, 3 * TTL_MS - TTL_MS / 3 - 1);
  expect(await Promise.race([told, Promise.resolve('nothing yet')])).toBe('nothing yet');
  await pass(fixture, 1);
  expect(await told).toMatchObject({ kind: 'hold-lost', cause: 'EXPIRED' });
  await letWrite();
});

it.each([
  ['released by somebody who names its owner', 'RELEASED', (engine: Engine) => engine.submit(release('r', 'a'))],
  ['acquired again by its owner', 'SUPERSEDED', (engine: Engine) => engine.submit(acquire('r', 'a'))],
])('a lock that is %s is lost at once as %s', async (_how, cause, lose) => {
  const { engine } = await startEngine();
  const holding = hold(engine);
  await next(holding);
  await lose(engine);
  expect(await next(holding)).toEqual({ kind: 'hold-lost', resource: 'r', fencingToken: 1n, cause });
  expect(await holding.next()).toEqual({ done: true, value: undefined });
});

it('a lock that another instance releases is lost', async () => {
  const here = await startEngine();
  const there = await startEngine({}, here);
  const holding = hold(here.engine);
  await next(holding);
  await there.engine.submit(release('r', 'a'));
  expect(await next(holding)).toMatchObject({ kind: 'hold-lost', cause: 'RELEASED' });
});

it('a hold whose listener is done releases its lock', async () => {
  const { engine, databaseUrl } = await startEngine();
  const holding = hold(engine, {}, COMPLETED);
  await next(holding);
  await holding.return?.();
  expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED a', 'RELEASED a']);
});

it('a hold whose listener is done as the database fails releases its lock once it can', async () => {
  const { engine, databaseUrl, observer } = await startEngine();
  const holding = hold(engine, {}, COMPLETED);
  await next(holding);
  const letWrite = await failWrites(databaseUrl);
  const returned = holding.return?.();
  await expect.poll(() => observer.errors.length).toBeGreaterThan(1);
  expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED a']);
  await letWrite();
  await returned;
  expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED a', 'RELEASED a']);
});

it('a hold that is cut off leaves its lock to its TTL, and its token goes on with it at another instance', async () => {
  const here = await startEngine();
  const there = await startEngine({}, here);
  const cut = hold(here.engine);
  await next(cut);
  await cut.return?.();
  here.time.advance(TTL_MS - 1);
  const resumed = hold(there.engine, { fencingToken: 1n });
  expect(await next(resumed)).toMatchObject({
    kind: 'renewed',
    lock: { fencingToken: 1n, expiresAt: here.time.wall + TTL_MS },
  });
  await resumed.return?.();
});

it.each([
  [
    'expired',
    'EXPIRED',
    async ({ time }: EngineFixture) => {
      time.advance(TTL_MS);
      return Promise.resolve();
    },
  ],
  ['was released', 'RELEASED', ({ engine }: EngineFixture) => engine.submit(release('r', 'a'))],
  ['was acquired anew by its owner', 'SUPERSEDED', ({ engine }: EngineFixture) => engine.submit(acquire('r', 'a'))],
  [
    'was released and is held by another owner',
    'RELEASED',
    async ({ engine }: EngineFixture) => {
      await engine.submit(release('r', 'a'));
      return engine.submit(acquire('r', 'b'));
    },
  ],
  [
    'was acquired anew by its owner and released',
    'SUPERSEDED',
    async ({ engine }: EngineFixture) => {
      await engine.submit(acquire('r', 'a'));
      return engine.submit(release('r', 'a'));
    },
  ],
])('a hold that comes back when its lock %s is told that it is lost as %s', async (_what, cause, lose) => {
  const fixture = await startEngine();
  await fixture.engine.submit(acquire('r', 'a', { ttlMs: TTL_MS }));
  await lose(fixture);
  const resumed = hold(fixture.engine, { fencingToken: 1n });
  expect(await next(resumed)).toEqual({ kind: 'hold-lost', resource: 'r', fencingToken: 1n, cause });
  expect(await resumed.next()).toEqual({ done: true, value: undefined });
});

it('a hold stands in line, says at which place whenever that has changed, and goes on to hold', async () => {
  const { engine, databaseUrl, time } = await startEngine();
  await engine.submit(acquire('r', 'x'));
  const gone = new AbortController();
  const ahead = wait(engine, 'r', 'y', { caller: gone.signal });
  await inLine(databaseUrl, 1);
  const holding = hold(engine, { waitMs: 60_000 });
  expect(await next(holding)).toEqual({ kind: 'hold-queued', resource: 'r', position: 2, deadline: time.wall + 60_000 });
  const askedAt = performance.now();
  gone.abort();
  await expect(ahead).rejects.toMatchObject({ name: 'StoreUnavailable' });
  expect(await next(holding)).toMatchObject({ kind: 'hold-queued', position: 1 });
  // Nothing is told of a place that stays the same: the next is the lock, however long that takes.
  await engine.submit(renew('r', 'x'));
  await expect.poll(() => performance.now() - askedAt, { timeout: 5_000 }).toBeGreaterThan(2_200);
  await engine.submit(release('r', 'x'));
  expect(await next(holding)).toMatchObject({ kind: 'acquired', lock: { owner: 'a' } });
  await holding.return?.();
});

it('a hold that waits for as long as it takes has no deadline', async () => {
  const { engine, databaseUrl } = await startEngine();
  await engine.submit(acquire('r', 'x'));
  const holding = hold(engine);
  expect(await next(holding)).toMatchObject({ kind: 'hold-queued', position: 1, deadline: null });
  await holding.return?.();
  await inLine(databaseUrl, 0);
});

it.each([
  [0, 'HELD_BY_ANOTHER'],
  [100, 'WAIT_TIMEOUT'],
])('a hold that waits for %i ms at the most ends with the conflict %s', async (waitMs, reason) => {
  const { engine } = await startEngine();
  await engine.submit(acquire('r', 'x'));
  const updates: HoldUpdate[] = [];
  for await (const update of hold(engine, { waitMs })) updates.push(update);
  expect(updates.at(-1)).toMatchObject({ kind: 'conflict', reason, current: { owner: 'x' } });
});

it.each([COMPLETED, CUT_OFF])('a hold that ends while it acquires leaves nothing behind', async (hasCompleted) => {
  const { engine, databaseUrl } = await startEngine();
  for (let n = 0; n < 20; n++) {
    const holding = hold(engine, { waitMs: n % 2 === 0 ? null : 0 }, hasCompleted);
    for (let turn = 0; turn < n; turn++) await new Promise(setImmediate);
    await holding.return?.();
    await inLine(databaseUrl, 0);
  }
});

it('a listener that is slow is told the last renewal alone', async () => {
  const { fixture, holding } = await startHolding();
  for (let renewal = 1; renewal <= 3; renewal++) {
    await pass(fixture, TTL_MS / 3);
    await expect.poll(() => fixture.observer.decidedCount).toBe(1 + renewal);
  }
  expect(await next(holding)).toMatchObject({ kind: 'renewed', lock: { revision: 4n } });
  await fixture.engine.submit(release('r', 'a'));
  expect(await next(holding)).toMatchObject({ kind: 'hold-lost' });
});

it('an engine that closes tells holders so, and leaves them their locks', async () => {
  const { engine, databaseUrl } = await startEngine();
  const holding = hold(engine);
  await next(holding);
  const waiting = hold(engine, { owner: 'b' });
  await inLine(databaseUrl, 1);
  await engine.stopWaiting();
  expect(await next(holding)).toEqual({ kind: 'hold-lost', resource: 'r', fencingToken: 1n, cause: 'SHUTDOWN' });
  const toldPlace = await waiting.next().catch((error: unknown) => error);
  const ended = toldPlace instanceof Error ? toldPlace : await waiting.next().catch((error: unknown) => error);
  expect(ended).toMatchObject({ name: 'StoreUnavailable', applied: false });
  expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED a']);
});
