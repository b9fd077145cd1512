import { afterEach, expect, it, vi } from 'vitest';
import type { AcquireCommand } from '../../src/locks/commands.js';
import type { Engine } from '../../src/engine/engine.js';
import { Hold, type HoldEngine } from '../../src/engine/hold.js';
import type { Snapshot, WatchItem } from '../../src/engine/watch.js';
import { openStore } from '../../src/store/open-store.js';
import { acquire, release } from '../support/commands.js';
import { startEngine, type EngineFixture } from '../support/engine.js';
import { whenOver } from '../support/shared.js';

const TTL_MS = 9000;
const REQUEST = { resource: 'r', owner: 'a', ttlMs: TTL_MS, waitMs: 0, fencingToken: null, metadata: null };
const MISSED: Snapshot = { kind: 'snapshot', logId: 'log', revision: 3n, reason: 'GAP', part: 1, complete: true, locks: [] };

afterEach(() => void vi.useRealTimers());

type Watch = () => AsyncIterableIterator<WatchItem>;

/** A hold that has its lock, in a time that only the test moves, with an engine whose watches tell nothing but that. */
async function startHolding({ engine, databaseUrl, time }: EngineFixture, watch: Watch): Promise<Hold> {
  const store = await openStore({ databaseUrl, retryWindowMs: 600_000, time: time.cells });
  whenOver(() => store.close());
  const blind: HoldEngine = {
    acquire: (command, wait, caller) => engine.acquire<AcquireCommand>(command, wait, caller),
    submit: (command) => engine.submit(command),
    watch,
    readLog: (after, selector) => store.readLog(after, 10, selector),
    now: () => engine.now(),
    giveBack: () => Promise.reject(new Error('It is not given back')),
  };
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const hold = new Hold(
    blind,
    REQUEST,
    () => false,
    () => undefined,
  );
  expect(await hold.next()).toMatchObject({ value: { kind: 'acquired', lock: { fencingToken: 1n } } });
  // It has asked for the time as well, before, and then sets its timers by it.
  await engine.now();
  return hold;
}

/** Taken over by its owner, which then releases it: the row alone does not tell the first of these. */
async function loseIt(engine: Engine): Promise<void> {
  await engine.submit(acquire('r', 'a'));
  await engine.submit(release('r', 'a'));
}

const SUPERSEDED = { value: { kind: 'hold-lost', resource: 'r', fencingToken: 1n, cause: 'SUPERSEDED' } };

it('a lock whose watch has ended is lost at its next renewal, for the cause that is in the log', async () => {
  const fixture = await startEngine();
  // eslint-disable-next-line require-yield
  const hold = await startHolding(fixture, async function* () {
    await Promise.resolve();
  });
  await loseIt(fixture.engine);
  const told = hold.next();
  fixture.time.advance(TTL_MS / 3);
  await vi.advanceTimersByTimeAsync(TTL_MS / 3);
  expect(await told).toMatchObject(SUPERSEDED);
});

it('a lock whose watch has missed its end is lost at once, for the cause that is in the log', async () => {
  const fixture = await startEngine();
  let tell = (): void => undefined;
  const missed = new Promise<void>((resolve) => (tell = resolve));
  const hold = await startHolding(fixture, async function* () {
    await missed;
    yield MISSED;
  });
  await loseIt(fixture.engine);
  tell();
  expect(await hold.next()).toMatchObject(SUPERSEDED);
});
