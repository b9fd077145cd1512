import { expect, it } from 'vitest';
import { Engine } from '../../src/engine/engine.js';
import { openStore } from '../../src/store/open-store.js';
import { acquire, renew } from '../support/commands.js';
import { createDatabase } from '../support/database.js';
import { brief, RETENTION, startEngine, take, watchRequest } from '../support/engine.js';
import { RecordingObserver } from '../support/observer.js';
import { runSql } from '../support/sql.js';
import { inLine, wait, waitForAll } from '../support/waiting.js';

it('a passed expiry becomes one EXPIRED event at its own moment, on a server that does nothing else', async () => {
  const { engine, time } = await startEngine();
  const outcome = await engine.submit(acquire('r', 'a', { ttlMs: 1000 }));
  const watch = engine.watch(watchRequest());
  await take(watch, 1);
  time.advance(1500);
  const [expired] = await take(watch, 1);
  expect(expired).toMatchObject({
    kind: 'event',
    event: { type: 'EXPIRED', fencingToken: 1n, at: time.wall - 500, writtenAt: time.wall },
  });
  expect(outcome).toMatchObject({ lock: { expiresAt: time.wall - 500 } });
  expect(await engine.submit(acquire('r', 'b'))).toMatchObject({ kind: 'acquired', lock: { fencingToken: 3n } });
  await watch.return?.();
});

it('a lock that was renewed in time does not expire', async () => {
  const { engine, time } = await startEngine();
  await engine.submit(acquire('kept', 'a', { ttlMs: 1000 }));
  await engine.submit(acquire('left', 'a', { ttlMs: 1000 }));
  time.advance(900);
  await engine.submit(renew('kept', 'a'));
  const watch = engine.watch(watchRequest({ snapshot: false }));
  await take(watch, 1);
  time.advance(200);
  expect((await take(watch, 1)).map(brief)).toEqual(['EXPIRED left 4']);
  await watch.return?.();
});

it('two instances that sweep the same expiries write each of them once', async () => {
  const first = await startEngine();
  const second = await startEngine({}, first);
  const watches = [first, second].map(({ engine }) => engine.watch(watchRequest({ snapshot: false })));
  for (const watch of watches) await take(watch, 1);
  await Promise.all(Array.from({ length: 300 }, (_, i) => first.engine.submit(acquire(`r:${i}`, 'a', { ttlMs: 1000 }))));
  first.time.advance(1000);
  for (const watch of watches) {
    const items = await take(watch, 600);
    expect(items.map((item) => (item.kind === 'event' ? item.event.revision : null))).toEqual(
      Array.from({ length: 600 }, (_, i) => BigInt(i + 1)),
    );
    expect(items.slice(300).every((item) => item.kind === 'event' && item.event.type === 'EXPIRED')).toBe(true);
    await watch.return?.();
  }
  expect((await first.engine.head()).revision).toBe(600n);
});

it('an expiry that passed while no server ran is written once by the next one', async () => {
  const { engine, databaseUrl, time } = await startEngine();
  await engine.submit(acquire('r', 'a', { ttlMs: 3000 }));
  await engine.close();
  time.advance(60_000);
  const store = await openStore({ databaseUrl, retryWindowMs: 600_000, time: time.cells });
  const next = await Engine.start(store, new RecordingObserver(), { retention: RETENTION });
  const watch = next.watch(watchRequest({ after: 1n }));
  const [expired] = await take(watch, 1);
  expect(expired).toMatchObject({ event: { type: 'EXPIRED', revision: 2n, at: time.wall - 57_000 } });
  await next.close();
});

it('a lock on an idle server usually has its event within 250 ms of its expiry', async () => {
  const store = await openStore({ databaseUrl: await createDatabase(), retryWindowMs: 600_000 });
  const engine = await Engine.start(store, new RecordingObserver(), { retention: RETENTION });
  const watch = engine.watch(watchRequest({ snapshot: false }));
  await take(watch, 1);
  const delays: number[] = [];
  for (let round = 0; round < 5; round++) {
    await engine.submit(acquire(`r:${round}`, 'a', { ttlMs: 50 }));
    const [, expired] = await take(watch, 2);
    if (expired?.kind === 'event') delays.push(Date.now() - expired.event.at);
  }
  await engine.close();
  expect(delays).toHaveLength(5);
  expect(delays.sort((a, b) => a - b)[2]).toBeLessThan(250);
});

it('an idle line is found behind many that are kept for calls that wait for others as well', async () => {
  const { engine, databaseUrl } = await startEngine();
  await engine.submit(acquire('held', 'a'));
  await engine.submit(acquire('z', 'a'));
  const all = Array.from({ length: 1001 }, (_, n) => waitForAll(engine, [`kept${n}`, 'held'], `b${n}`));
  await inLine(databaseUrl, 2002);
  const waiting = wait(engine, 'z', 'c');
  await inLine(databaseUrl, 2003);
  await runSql(databaseUrl, "DELETE FROM distributed_locks WHERE resource = 'z'");
  expect(await waiting).toMatchObject({ kind: 'acquired' });
  const told = Promise.allSettled(all);
  await engine.stopWaiting();
  for (const { status } of await told) expect(status).toBe('rejected');
});
