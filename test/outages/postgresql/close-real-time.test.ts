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

test('an engine that is closed while its database hangs answers what is under way, and is closed in seconds', async () => {
  const databaseUrl = await createDatabase();
  const proxy = await TcpProxy.start(databaseUrl);
  const behindProxy = proxy.through(databaseUrl);
  const store = await openStore({ databaseUrl: behindProxy, listenUrl: behindProxy, retryWindowMs: 600_000 });
  const engine = await Engine.start(store, new RecordingObserver(), { retention: RETENTION });
  onTestFinished(() => engine.close());
  const watch = engine.watch(watchRequest({ snapshot: false }));
  await watch.next();
  await engine.submit(acquire('before', 'A'));
  await watch.next();
  proxy.stall();
  const next = watch.next();
  const answers = Promise.allSettled(Array.from({ length: COMMANDS }, (_, n) => engine.submit(acquire(`job:${n}`, 'A'))));
  // Whatever looks at the database by itself hangs, too.
  await sleep(500);

  const startedAt = performance.now();
  await engine.close();
  expect(performance.now() - startedAt).toBeLessThan(CLOSED_WITHIN_MS);
  const refused = { status: 'rejected', reason: expect.objectContaining({ name: 'StoreUnavailable', applied: false }) };
  expect(await answers).toEqual(Array(COMMANDS).fill(refused));
  expect((await next).done).toBe(true);
});
