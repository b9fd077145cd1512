import { expect, onTestFinished, test } from 'vitest';
import { LIMITS } from '../../src/server/limits.js';
import { startTestApp } from '../support/app.js';
import { WebSocketClient } from '../support/websocket-client.js';

const WATCH = 'subscription { lockChanges { __typename } }';

/** Smaller limits than the server has, for the rest of the test. */
function limit(limits: Partial<Record<'sockets' | 'subscriptions' | 'eventStreams', number>>): void {
  const { sockets, subscriptions, eventStreams } = LIMITS;
  Object.assign(LIMITS, limits);
  onTestFinished(() => {
    Object.assign(LIMITS, { sockets, subscriptions, eventStreams });
  });
}

function askForStream(url: string): Promise<Response> {
  const headers = { accept: 'text/event-stream', 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify({ query: WATCH }) });
}

/** The status of a stream of server-sent events, which is ended at once. */
async function statusOfStream(url: string): Promise<number> {
  const response = await askForStream(url);
  await response.body?.cancel();
  return response.status;
}

test('a WebSocket more than a server may have is refused with 503, until another one has closed', async () => {
  limit({ sockets: 2 });
  const { url } = await startTestApp();
  const clients = await Promise.all([WebSocketClient.open(url), WebSocketClient.open(url)]);
  expect(await WebSocketClient.statusOfUpgrade(url)).toBe(503);
  await clients[0].close();
  expect(await WebSocketClient.statusOfUpgrade(url)).toBe(101);
});

test('a subscription more than a server may have is refused as UNAVAILABLE, until another one has ended', async () => {
  limit({ subscriptions: 2 });
  const { url } = await startTestApp();
  const [first, second] = await Promise.all([WebSocketClient.open(url), WebSocketClient.open(url)]);
  for (const [client, id] of [[first, '1'] as const, [second, '1'] as const]) {
    client.subscribe(id, WATCH);
    await client.expect('next');
  }
  first.subscribe('2', WATCH);
  expect((await first.expect('error')).payload[0].extensions).toEqual({ code: 'UNAVAILABLE', retryable: true, applied: false });
  expect(await statusOfStream(url)).toBe(503);
  // Queries are not meant.
  expect((await first.run('{ server { version } }')).errors).toBeUndefined();

  first.send({ type: 'complete', id: '1' });
  await expect.poll(() => statusOfStream(url)).toBe(200);
  await expect.poll(() => statusOfStream(url)).toBe(200);
  second.socket.terminate();
  for (const id of ['3', '4']) {
    await expect
      .poll(async () => {
        first.subscribe(id, WATCH);
        return (await first.next()).type;
      })
      .toBe('next');
  }
});

test('an event stream more than a server may have is refused with 503 and a time to come back, until another one has ended', async () => {
  limit({ eventStreams: 2 });
  const app = await startTestApp();
  const streams = await Promise.all([askForStream(app.url), askForStream(app.url)]);
  expect(await app.metric('holdfast_event_streams')).toBe(2);
  const refused = await askForStream(app.url);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.text()).toContain('"extensions":{"code":"UNAVAILABLE","retryable":true,"applied":false}');
  await streams[0].body?.cancel();
  await expect.poll(() => statusOfStream(app.url)).toBe(200);
  await streams[1].body?.cancel();
});
