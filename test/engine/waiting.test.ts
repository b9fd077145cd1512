import { expect, it } from 'vitest';
import { acquire, acquireAll, release } from '../support/commands.js';
import { startEngine } from '../support/engine.js';
import { runSql } from '../support/sql.js';
import { historyOf, inLine, wait, waitForAll } from '../support/waiting.js';

it('a call that waits gets the lock when it is released, for its whole TTL from then on', async () => {
  const { engine, databaseUrl, time } = await startEngine();
  await engine.submit(acquire('r', 'a'));
  const waiting = wait(engine, 'r', 'b', { ttlMs: 5000, metadata: '{"host":"h"}' });
  await inLine(databaseUrl, 1);
  time.advance(1000);
  await engine.submit(release('r', 'a'));
  expect(await waiting).toMatchObject({
    kind: 'acquired',
    reacquired: false,
    lock: { owner: 'b', fencingToken: 3n, acquiredAt: time.wall, expiresAt: time.wall + 5000, metadata: '{"host":"h"}' },
  });
  expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED a', 'RELEASED a', 'ACQUIRED b']);
});

it('a call that need not wait is answered at once', async () => {
  const { engine, observer } = await startEngine();
  expect(await wait(engine, 'r', 'a')).toMatchObject({ kind: 'acquired', lock: { fencingToken: 1n } });
  expect(observer.waitEnds).toEqual([]);
});

it('those who wait are served in the order in which they came', async () => {
  const { engine, databaseUrl } = await startEngine();
  await engine.submit(acquire('r', 'first'));
  const served: string[] = [];
  const waiting: Promise<unknown>[] = [];
  for (const owner of ['b', 'c', 'd']) {
    waiting.push(wait(engine, 'r', owner).then(() => served.push(owner)));
    await inLine(databaseUrl, waiting.length);
  }
  for (const owner of ['first', 'b', 'c']) {
    await expect.poll(() => engine.submit(release('r', owner))).toMatchObject({ kind: 'released' });
  }
  await Promise.all(waiting);
  expect(served).toEqual(['b', 'c', 'd']);
  expect((await historyOf(databaseUrl, 'r')).filter((event) => event.startsWith('ACQUIRED'))).toEqual(
    ['first', 'b', 'c', 'd'].map((owner) => `ACQUIRED ${owner}`),
  );
});

it('a call that waits gets the lock when it expires, though nobody else does anything', async () => {
  const { engine, databaseUrl, time } = await startEngine();
  await engine.submit(acquire('r', 'a', { ttlMs: 1000 }));
  const waiting = wait(engine, 'r', 'b');
  await inLine(databaseUrl, 1);
  time.advance(1000);
  expect(await waiting).toMatchObject({ kind: 'acquired', lock: { fencingToken: 3n } });
  expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED a', 'EXPIRED a', 'ACQUIRED b']);
});

it('a call that waits gets the lock when another instance takes its release', async () => {
  const here = await startEngine();
  const there = await startEngine({}, here);
  await there.engine.submit(acquire('r', 'a'));
  const waiting = wait(here.engine, 'r', 'b');
  await inLine(here.databaseUrl, 1);
  await there.engine.submit(release('r', 'a'));
  expect(await waiting).toMatchObject({ kind: 'acquired', lock: { fencingToken: 3n } });
});

it('a call whose time is up leaves the line, and is told who holds the lock', async () => {
  const { engine, databaseUrl } = await startEngine();
  await engine.submit(acquire('r', 'a'));
  expect(await wait(engine, 'r', 'b', { waitMs: 50 })).toMatchObject({
    kind: 'conflict',
    reason: 'WAIT_TIMEOUT',
    resource: 'r',
    current: { owner: 'a', fencingToken: 1n },
  });
  await inLine(databaseUrl, 0);
  await engine.submit(release('r', 'a'));
  expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED a', 'RELEASED a']);
});

it('a call whose deadline has passed by the clock of the database gets nothing, though nobody has told it so yet', async () => {
  const { engine, databaseUrl, time } = await startEngine();
  await engine.submit(acquire('r', 'a', { ttlMs: 600_000 }));
  const late = new AbortController();
  const waiting = wait(engine, 'r', 'b', { waitMs: 60_000, caller: late.signal });
  await inLine(databaseUrl, 1);
  time.advance(60_000);
  await engine.submit(release('r', 'a'));
  expect(await engine.submit(acquire('r', 'c'))).toMatchObject({ kind: 'acquired' });
  late.abort();
  await expect(waiting).rejects.toMatchObject({ name: 'StoreUnavailable' });
});

it('one owner that waits twice has two places, and gets the lock twice, one after the other', async () => {
  const { engine, databaseUrl } = await startEngine();
  await engine.submit(acquire('r', 'a'));
  const first = wait(engine, 'r', 'b');
  await inLine(databaseUrl, 1);
  const second = wait(engine, 'r', 'b');
  await inLine(databaseUrl, 2);
  await engine.submit(release('r', 'a'));
  expect(await first).toMatchObject({ kind: 'acquired', reacquired: false, lock: { fencingToken: 3n } });
  await inLine(databaseUrl, 1);
  await engine.submit(release('r', 'b', 3n));
  expect(await second).toMatchObject({ kind: 'acquired', reacquired: false, lock: { fencingToken: 5n } });
});

it.each([
  [false, { kind: 'conflict', reason: 'HELD_BY_SELF' }],
  [true, { kind: 'acquired', reacquired: true }],
])('the holder that would wait for its own lock is answered at once: reacquire %s', async (reacquire, outcome) => {
  const { engine } = await startEngine();
  await engine.submit(acquire('r', 'a'));
  expect(await wait(engine, 'r', 'a', { reacquire })).toMatchObject(outcome);
});

it('a call for several locks holds none of them while it waits, and gets all of them at once', async () => {
  const { engine, databaseUrl } = await startEngine();
  await engine.submit(acquire('y', 'a'));
  const waiting = waitForAll(engine, ['x', 'y', 'z'], 'b');
  await inLine(databaseUrl, 3);
  // Free, but kept for whoever stands in line.
  expect(await engine.submit(acquire('x', 'c'))).toMatchObject({ reason: 'HELD_BY_ANOTHER', current: null });
  await engine.submit(release('y', 'a'));
  expect(await waiting).toMatchObject({
    kind: 'acquired-all',
    locks: [
      { resource: 'x', owner: 'b', fencingToken: 3n },
      { resource: 'y', owner: 'b', fencingToken: 4n },
      { resource: 'z', owner: 'b', fencingToken: 5n },
    ],
  });
});

it('calls for the same locks in opposite orders never wait for each other for ever', async () => {
  const { engine } = await startEngine();
  const rounds = Array.from({ length: 20 }, async (_, n) => {
    const names = n % 2 === 0 ? ['x', 'y', 'z'] : ['z', 'y', 'x'];
    expect(await waitForAll(engine, names, `o:${n}`)).toMatchObject({ kind: 'acquired-all' });
    expect((await engine.releaseAll({ owner: `o:${n}`, locks: null, upTo: null })).released).toHaveLength(3);
  });
  await Promise.all(rounds);
});

it('a call for several locks whose time is up is told of all that stand in its way', async () => {
  const { engine } = await startEngine();
  await engine.submit(acquire('y', 'a'));
  await engine.submit(acquire('z', 'c'));
  expect(await waitForAll(engine, ['x', 'y', 'z'], 'b', { waitMs: 50 })).toMatchObject({
    kind: 'conflict',
    reason: 'WAIT_TIMEOUT',
    resource: 'y',
    current: { owner: 'a' },
    blockedBy: [{ owner: 'a' }, { owner: 'c' }],
  });
});

it('a call that would close a circle of owners is refused, if it asked for that', async () => {
  const { engine, databaseUrl } = await startEngine();
  await engine.submit(acquire('x', 'a'));
  await engine.submit(acquire('y', 'b'));
  const waiting = wait(engine, 'y', 'a');
  await inLine(databaseUrl, 1);
  expect(await wait(engine, 'x', 'b', { detectDeadlock: true })).toMatchObject({
    kind: 'conflict',
    reason: 'DEADLOCK',
    resource: 'x',
    circle: [
      { owner: 'b', resource: 'x' },
      { owner: 'a', resource: 'y' },
    ],
  });
  await engine.submit(release('y', 'b'));
  expect(await waiting).toMatchObject({ kind: 'acquired' });
});

it('200 callers that wait for one lock each get it once, with rising tokens', async () => {
  const { engine } = await startEngine();
  await engine.submit(acquire('r', 'first'));
  const tokens: bigint[] = [];
  const callers = Array.from({ length: 200 }, async (_, n) => {
    const outcome = await wait(engine, 'r', `o:${n}`);
    if (outcome.kind !== 'acquired') throw new Error(outcome.reason);
    tokens.push(outcome.lock.fencingToken);
    await engine.submit(release('r', `o:${n}`, outcome.lock.fencingToken));
  });
  await engine.submit(release('r', 'first'));
  await Promise.all(callers);
  expect(tokens).toHaveLength(200);
  expect(tokens).toEqual(tokens.toSorted((a, b) => Number(a - b)));
});

it(
  'calls for a thousand locks with long names can wait together, and have their turns one after the other',
  { timeout: 60_000 },
  async () => {
    const { engine, databaseUrl } = await startEngine();
    const names = Array.from({ length: 1000 }, (_, n) => `${n}-`.padEnd(200, 'é'));
    const owners = ['b', 'c', 'd'];
    await engine.submit(acquireAll(names, 'a'));
    const metadata = JSON.stringify('m'.repeat(1500));
    const calls = owners.map((owner) => waitForAll(engine, names, owner, { metadata }));
    await inLine(databaseUrl, 3000);
    const [row] = await runSql(
      databaseUrl,
      'SELECT sum(length(resources) + coalesce(length(metadata), 0)) AS letters FROM lock_waiters',
    );
    expect(Number(row?.['letters'])).toBeLessThan(3_000_000);
    for (const [n, call] of calls.entries()) {
      await engine.releaseAll({ owner: owners[n - 1] ?? 'a', locks: null, upTo: null });
      const outcome = await call;
      if (outcome.kind !== 'acquired-all') throw new Error(outcome.kind);
      expect(outcome.locks.map(({ resource }) => resource)).toEqual(names);
      expect(new Set(outcome.locks.map((lock) => `${lock.owner} ${lock.metadata}`))).toEqual(new Set([`${owners[n]} ${metadata}`]));
    }
  },
);
