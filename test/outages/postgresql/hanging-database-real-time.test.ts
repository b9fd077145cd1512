import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Engine } from '../../../src/engine/engine.js';
import { openStore } from '../../../src/store/open-store.js';
import { acquire } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { RETENTION, watchRequest } from '../../support/engine.js';
import { RecordingObserver } from '../../support/observer.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

/** Whoever ends a server waits for it no longer than that. */
const CLOSED_WITHIN_MS = 9_500;
const COMMANDS = 100;

/** As long as one group takes to be given up. */
const GIVEN_UP_WITHIN_MS = 8_000;
/** More than one group takes. */
const MANY_COMMANDS = 2_500;

interface Behind {
  readonly proxy: TcpProxy;
  readonly engine: Engine;
}

async function startBehindProxy(): Promise<Behind> {
  const databaseUrl = await createDatabase();
  const proxy = await TcpProxy.start(databaseUrl);
  const behindProxy = proxy.through(databaseUrl);
  const store = await openStore({ databaseUrl: behindProxy, listenUrl: behindProxy, retryWindowMs: 600_000 });
  const engine = await Engine.start(store, new RecordingObserver(), { retention: RETENTION });
  onTestFinished(() => engine.close());
  return { proxy, engine };
}

function submitMany({ engine }: Behind, count: number) {
  return Promise.allSettled(Array.from({ length: count }, (_, n) => engine.submit(acquire(`job:${n}`, 'A'))));
}

/** @param applied null: perhaps */
function refusedAs(applied: boolean | null) {
  return { status: 'rejected', reason: expect.objectContaining({ name: 'StoreUnavailable', applied }) };
}

test(
  'commands that come while the database hangs are all refused with the first group, and never done',
  { timeout: 60_000 },
  async () => {
    const behind = await startBehindProxy();
    const { proxy, engine } = behind;
    proxy.stall();
    const startedAt = performance.now();
    const first = Promise.allSettled([engine.submit(acquire('first', 'A'))]);
    await sleep(100);
    const answers = await submitMany(behind, MANY_COMMANDS);
    expect(performance.now() - startedAt).toBeLessThan(GIVEN_UP_WITHIN_MS);
    expect(await first).toEqual([refusedAs(false)]);
    expect(answers).toEqual(Array(MANY_COMMANDS).fill(refusedAs(false)));

    proxy.pass();
    await expect.poll(() => engine.submit(acquire('after', 'A')), { timeout: 8_000 }).toMatchObject({ kind: 'acquired' });
    expect((await engine.head()).revision).toBe(1n);
  },
);

test('an engine that is closed while its database hangs answers what is under way, and is closed in seconds', async () => {
  const behind = await startBehindProxy();
  const { proxy, engine } = behind;
  const watch = engine.watch(watchRequest({ snapshot: false }));
  await watch.next();
  await engine.submit(acquire('before', 'A'));
  await watch.next();
  proxy.stall();
  const next = watch.next();
  const sent = submitMany(behind, COMMANDS);
  await sleep(100);
  const queued = submitMany(behind, COMMANDS);
  // Whatever looks at the database by itself hangs, too.
  await sleep(500);

  const startedAt = performance.now();
  await engine.close();
  expect(performance.now() - startedAt).toBeLessThan(CLOSED_WITHIN_MS);
  // The message that the first of them are in may still arrive, for all that the instance knows; unless the database was asked for
  // its time first, since that was answered too slowly before.
  const [first, ...others] = await sent;
  expect([null, false].map(refusedAs)).toContainEqual(first);
  expect(others).toEqual(Array(COMMANDS - 1).fill(first));
  expect(await queued).toEqual(Array(COMMANDS).fill(refusedAs(false)));
  expect((await next).done).toBe(true);
});
