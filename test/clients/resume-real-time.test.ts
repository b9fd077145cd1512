import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { changeSteadily, headOf, LogReader, logOf, TRANSPORTS } from './log-reader.js';

const RESTARTS = 5;

test.each(TRANSPORTS)(
  'a watcher that resubscribes by %s from its last revision is told exactly the log, over restarts of the service',
  { timeout: 60_000 },
  async (_, read) => {
    let app = await startTestApp();
    const { databaseUrl } = app;
    const env = { DATABASE_URL: databaseUrl, PORT: new URL(app.origin).port };
    const reader = new LogReader(read, () => app.url);
    await reader.reaches(0n);
    for (let restart = 0; restart < RESTARTS; restart++) {
      const load = changeSteadily(() => app.url);
      await reader.reaches((await headOf(app.url)) + 100n);
      await load.stop();
      await app.close();
      // What happens while the watcher can't connect comes as well.
      const meanwhile = await startTestApp({ env: { DATABASE_URL: databaseUrl } });
      const before = await headOf(meanwhile.url);
      const unseen = changeSteadily(() => meanwhile.url);
      await expect.poll(() => headOf(meanwhile.url)).toBeGreaterThan(before);
      await unseen.stop();
      await meanwhile.close();
      app = await startTestApp({ env });
    }
    await reader.reaches(await headOf(app.url));
    await reader.close();
    expect(reader.events).toEqual(await logOf(databaseUrl));
    expect(reader.reasons).toEqual(['STARTED']);
    expect(reader.connections).toBeGreaterThan(RESTARTS);
  },
);
