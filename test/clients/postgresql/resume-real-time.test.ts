import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startTestApps } from '../../support/app.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { changeSteadily, headOf, LogReader, logOf, TRANSPORTS } from '../log-reader.js';

/** So much has to have happened, at the least. */
const CUTS = 40;
const CONNECTIONS = 10;
const EVENTS = 100;

test.each(TRANSPORTS)(
  'a watcher that resubscribes by %s from its last revision, on two instances by turns, is told exactly the log',
  { timeout: 60_000 },
  async (_, read) => {
    const apps = await startTestApps(2);
    const proxies = await Promise.all(apps.map(({ url }) => TcpProxy.start(url)));
    const turn = <Item>(items: readonly Item[], n: number) => items[n % items.length]!;
    const reader = new LogReader(read, (n) => turn(proxies, n).through(turn(apps, n).url));
    await reader.reaches(0n);
    const load = changeSteadily((round) => turn(apps, round).url);
    for (let n = 0; n < CUTS || reader.connections <= CONNECTIONS || reader.events.length <= EVENTS; n++) {
      await sleep(Math.random() * 100);
      // Cut in the middle of whatever is told just then, or between two of it.
      for (const proxy of proxies) proxy.cut();
    }
    await load.stop();
    await reader.reaches(await headOf(apps[0]!.url));
    await reader.close();
    expect(reader.events).toEqual(await logOf(apps[0]!.databaseUrl));
    expect(reader.reasons).toEqual(['STARTED']);
  },
);
