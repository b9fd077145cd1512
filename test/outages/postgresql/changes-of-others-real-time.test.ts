import { expect, onTestFinished, test } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { Engine } from '../../../src/engine/engine.js';
import type { WatchItem } from '../../../src/engine/watch.js';
import { openStore } from '../../../src/store/open-store.js';
import { acquire } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { RETENTION, take, watchRequest } from '../../support/engine.js';
import { RecordingObserver } from '../../support/observer.js';
import { runSql } from '../../support/sql.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { LISTENS, pidsOf, terminate, untilThereIs } from './sessions.js';

/** By looking once a second. */
const LOOKED_FOR_MS = 1_500;
/** By a notice: far less than that, also on a machine that has other things to do. */
const NOTIFIED_MS = 250;
const TRIES = 3;
/** Until it is found out that a connection hangs. */
const FOUND_OUT_MS = 5_000;

async function startInstance(databaseUrl: string, listenUrl: string | null): Promise<Engine> {
  const store = await openStore({ databaseUrl, retryWindowMs: 600_000, listenUrl });
  const engine = await Engine.start(store, new RecordingObserver(), { retention: RETENTION });
  onTestFinished(() => engine.close());
  return engine;
}

/** An instance that watches, and how long it takes until it knows of what another one has committed. */
async function watchOther(databaseUrl: string, listenUrl: string | null) {
  const other = await startInstance(databaseUrl, null);
  const watching = await startInstance(databaseUrl, listenUrl);
  const watch = watching.watch(watchRequest());
  onTestFinished(() => void watch.return?.());
  await take(watch, 1);
  const delayOf = async (resource: string): Promise<number> => {
    await other.submit(acquire(resource, 'A'));
    const committedAt = performance.now();
    const [item] = (await take(watch, 1)) as [WatchItem];
    expect(item).toMatchObject({ kind: 'event', event: { resource } });
    return performance.now() - committedAt;
  };
  const delays = async (): Promise<number[]> => {
    const measured: number[] = [];
    for (let n = 0; n < TRIES; n++) {
      await sleep(Math.random() * 300);
      measured.push(await delayOf(`job:${n}`));
    }
    return measured.sort((one, another) => one - another);
  };
  return { delays };
}

test('without a way to listen, changes of another instance reach a watcher in a second and a half', async () => {
  const { delays } = await watchOther(await createDatabase(), null);
  expect(Math.max(...(await delays()))).toBeLessThan(LOOKED_FOR_MS);
});

async function expectNotices({ delays }: { delays: () => Promise<number[]> }): Promise<void> {
  const [, median = Infinity] = await delays();
  expect(median).toBeLessThan(NOTIFIED_MS);
}

test('notices let changes of another instance reach a watcher at once, again after the listening session was ended', async () => {
  const databaseUrl = await createDatabase();
  const instance = await watchOther(databaseUrl, databaseUrl);
  await untilThereIs(databaseUrl, LISTENS);
  await expectNotices(instance);
  await terminate(databaseUrl, LISTENS);
  await untilThereIs(databaseUrl, LISTENS);
  await expectNotices(instance);
});

test('a listening connection that hangs delays changes by a second, and is replaced', async () => {
  const databaseUrl = await createDatabase();
  const proxy = await TcpProxy.start(databaseUrl);
  const instance = await watchOther(databaseUrl, proxy.through(databaseUrl));
  await untilThereIs(databaseUrl, LISTENS);
  const [before] = await pidsOf(databaseUrl, LISTENS);
  proxy.stall();
  const [delays] = await Promise.all([instance.delays(), sleep(FOUND_OUT_MS)]);
  expect(Math.max(...delays)).toBeLessThan(LOOKED_FOR_MS);
  proxy.pass();
  await expect.poll(() => pidsOf(databaseUrl, LISTENS), { timeout: 8_000 }).toEqual([expect.not.toBeOneOf([before])]);
  await expectNotices(instance);
});

test('notices of anything else than a revision do no harm', async () => {
  const databaseUrl = await createDatabase();
  const instance = await watchOther(databaseUrl, databaseUrl);
  await untilThereIs(databaseUrl, LISTENS);
  for (const payload of ['', 'x', '-1', '1.5', '9'.repeat(19), '9'.repeat(7_000)]) {
    await runSql(databaseUrl, `SELECT pg_notify('holdfast_log', '${payload}')`);
  }
  await expectNotices(instance);
});
