import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { changeSteadily, headOf, LogReader, logOf } from './log-reader.js';

const RESTARTS = 5;

test('a watcher that resubscribes from its last revision is told exactly the log, over restarts of the service', async () => {
  let app = await startTestApp();
  const { databaseUrl } = app;
  const env = { DATABASE_URL: databaseUrl, PORT: new URL(app.origin).port };
  const reader = new LogReader(() => app.url);
  await reader.reaches('0');
  for (let restart = 0; restart < RESTARTS; restart++) {
    const load = changeSteadily(() => app.url);
    await reader.reaches(String(BigInt(await headOf(app.url)) + 100n));
    await load.stop();
    await app.close();
    // What happens while the watcher can't connect comes as well.
    const meanwhile = await startTestApp({ env: { DATABASE_URL: databaseUrl } });
    const unseen = changeSteadily(() => meanwhile.url);
    await expect.poll(() => headOf(meanwhile.url)).not.toBe(await headOf(meanwhile.url));
    await unseen.stop();
    await meanwhile.close();
    app = await startTestApp({ env });
  }
  await reader.reaches(await headOf(app.url));
  await reader.close();
  expect(reader.events).toEqual(await logOf(databaseUrl));
  expect(reader.reasons).toEqual(['STARTED']);
  expect(reader.connections).toBeGreaterThan(RESTARTS);
});
