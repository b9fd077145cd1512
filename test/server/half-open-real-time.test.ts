import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startTestApp } from '../support/app.js';
import { acquireLock } from '../support/http-client.js';
import { WebSocketClient } from '../support/websocket-client.js';

const WATCH = `subscription ($after: BigInt) { lockChanges(after: $after, snapshot: false) { __typename
  ... on LockEvent { revision } ... on LockBookmark { revision } } }`;
const PINGS_PER_MINUTE = 4;
const PING_INTERVAL_MS = 15_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A minute goes by, in which whoever reads has the time to answer pings, and the system to tell who takes what is sent. */
async function passMinute(): Promise<void> {
  for (let ping = 0; ping < PINGS_PER_MINUTE; ping++) {
    vi.advanceTimersByTime(PING_INTERVAL_MS);
    await sleep(1_000);
  }
}

test('a peer that neither reads nor answers pings is gone within a minute with all it held, and misses nothing when it resumes', async () => {
  const app = await startTestApp();
  const [silent, reading] = [await WebSocketClient.open(app.url), await WebSocketClient.open(app.url)];
  for (const client of [silent, reading]) {
    client.subscribe('w', WATCH);
    await client.expect('next');
  }
  silent.socket.pause();
  await acquireLock(app.url, 'a', 'A');
  await passMinute();
  await expect.poll(() => app.metric('holdfast_websockets')).toBe(1);
  expect(await app.metric('holdfast_watchers')).toBe(1);
  expect((await reading.expect('next')).payload.data.lockChanges).toEqual({ __typename: 'LockEvent', revision: '1' });

  const resumed = await WebSocketClient.open(app.url);
  resumed.subscribe('w', WATCH, { after: '0' });
  expect((await resumed.expect('next')).payload.data.lockChanges).toEqual({ __typename: 'LockEvent', revision: '1' });
});
