import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { holdWriteLock } from '../support/database-faults.js';
import { ACQUIRE, acquireLock, post } from '../support/http-client.js';
import { WebSocketClient } from '../support/websocket-client.js';
import { connectRaw, readToEnd, requestOf } from './raw-http.js';
import { TRANSPORTS, type Told } from './transports.js';
import { acquireR, releaseR } from './waiting.js';

const WATCH = 'subscription { lockChanges { __typename } }';
const VERSION = '{ server { version } }';

const { WebSocket: overWebSocket, 'server-sent events': overEvents, 'HTTP POST': overPost } = TRANSPORTS;

/** What is told on each transport that a limit of that size is reached. */
function expectUnavailable(told: Told, limit: string): void {
  expect(told).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining(`at most ${limit}`) as string });
  if (told.status !== null) expect([told.status, told.retryAfter]).toEqual([503, '1']);
}

test('operations more than a server may have under way are refused on every transport, and counted', async () => {
  const app = await startTestApp({ env: { MAX_OPERATIONS: '2' } });
  const free = await holdWriteLock(app.databaseUrl);
  const underWay = ['a', 'b'].map((name) => acquireLock(app.url, name, 'A'));
  const asks = Object.values(TRANSPORTS);
  await expect.poll(async () => (await overPost(app.url, VERSION)).code).toBe('UNAVAILABLE');
  const shed = await app.metric('holdfast_operations_shed_total');
  const told = await Promise.all(asks.map((ask) => ask(app.url, VERSION)));
  for (const one of told) expectUnavailable(one, '2 operations');
  expect(await app.metric('holdfast_operations_shed_total')).toBe(shed + asks.length);
  // A watch is no operation that would be over soon.
  expect((await overWebSocket(app.url, WATCH)).code).toBeUndefined();

  await free();
  expect((await Promise.all(underWay)).map(({ __typename }) => __typename)).toEqual(['LockAcquired', 'LockAcquired']);
  for (const ask of asks) expect((await ask(app.url, VERSION)).code).toBeUndefined();
});

test('of operations that come in one packet no more are begun than there may be', async () => {
  const { origin } = await startTestApp({ env: { MAX_OPERATIONS: '3' } });
  const socket = await connectRaw(origin);
  const line = ['POST /graphql HTTP/1.1', 'Host: localhost', 'Content-Type: application/json'];
  const body = (n: number) => JSON.stringify({ query: ACQUIRE, variables: { input: { resource: `r:${n}`, owner: 'A' } } });
  const requests = Array.from({ length: 6 }, (_, n) => requestOf(n < 5 ? line : [...line, 'Connection: close'], body(n)));
  socket.write(requests.join(''));
  const answers = (await readToEnd(socket)).match(/LockAcquired|UNAVAILABLE/g);
  expect(answers).toEqual([...Array(3).fill('LockAcquired'), ...Array(3).fill('UNAVAILABLE')]);
});

test('of messages that come in one packet no more are begun than there may be', async () => {
  const client = await WebSocketClient.open((await startTestApp({ env: { MAX_OPERATIONS: '3' } })).url);
  const { _socket: connection } = client.socket as unknown as { readonly _socket: Socket };
  connection.cork();
  for (let n = 0; n < 6; n++) client.subscribe(`${n}`, ACQUIRE, { input: { resource: `r:${n}`, owner: 'A' } });
  connection.uncork();
  const told = new Map<string | undefined, string>();
  while (told.size < 6) {
    const { type, id } = await client.next();
    if (type !== 'complete') told.set(id, type);
  }
  expect(Object.fromEntries(told)).toEqual({ 0: 'next', 1: 'next', 2: 'next', 3: 'error', 4: 'error', 5: 'error' });
});

test('of subscriptions that come in one packet no more are begun than there may be', async () => {
  const { url, metric } = await startTestApp({ env: { MAX_SUBSCRIPTIONS: '2' } });
  const client = await WebSocketClient.open(url);
  const { _socket: connection } = client.socket as unknown as { readonly _socket: Socket };
  connection.cork();
  for (let n = 0; n < 5; n++) client.subscribe(`${n}`, WATCH);
  connection.uncork();
  const told = new Map<string | undefined, string>();
  while (told.size < 5) {
    const { type, id } = await client.next();
    told.set(id, type);
  }
  expect(Object.fromEntries(told)).toEqual({ 0: 'next', 1: 'next', 2: 'error', 3: 'error', 4: 'error' });
  expect(await metric('holdfast_watchers')).toBe(2);
});

test('who waits for a refusal is told it when the server shuts down', async () => {
  const app = await startTestApp({ env: { MAX_OPERATIONS: '1' } });
  const free = await holdWriteLock(app.databaseUrl);
  const underWay = acquireLock(app.url, 'a', 'A');
  await expect.poll(async () => (await overPost(app.url, VERSION)).code).toBe('UNAVAILABLE');
  const shed = await app.metric('holdfast_operations_shed_total');
  const refused = Array.from({ length: 50 }, () => overPost(app.url, VERSION));
  await expect.poll(() => app.metric('holdfast_operations_shed_total')).toBe(shed + refused.length);
  await Promise.all([app.close(), free()]);
  for (const one of await Promise.all(refused)) expectUnavailable(one, '1 operations');
  expect((await underWay).__typename).toBe('LockAcquired');
});

test('who stands in line is no load, but there may be only so many on every transport', async () => {
  const app = await startTestApp({ env: { MAX_OPERATIONS: '1', MAX_WAITING_CALLS: '2' } });
  await acquireR(app.url, 'A');
  const waiting = [acquireR(app.url, 'B', 60_000)];
  await expect.poll(() => app.metric('holdfast_waiting_calls')).toBe(1);
  waiting.push(acquireR(app.url, 'C', 60_000));
  await expect.poll(() => app.metric('holdfast_waiting_calls')).toBe(2);
  for (const ask of Object.values(TRANSPORTS)) {
    const told = await ask(app.url, ACQUIRE, { input: { resource: 'r', owner: 'D', waitMs: 60_000 } });
    expect(told).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('At most 2 calls') as string });
  }
  // Whoever does not wait is answered.
  expect(await acquireR(app.url, 'D')).toBe('Conflict HELD_BY_ANOTHER');
  for (const [n, owner] of ['A', 'B', 'C'].entries()) {
    await releaseR(app.url, owner);
    if (n < 2) expect(await waiting[n]).toMatch(/^LockAcquired/);
  }
  await acquireR(app.url, 'A');
  const late = acquireR(app.url, 'B', 60_000);
  await expect.poll(() => app.metric('holdfast_waiting_calls')).toBe(1);
  await releaseR(app.url, 'A');
  expect(await late).toBe('LockAcquired B');
});

test('a WebSocket more than a server may have is refused, until another one has closed', async () => {
  const { url, origin } = await startTestApp({ env: { MAX_WEBSOCKETS: '2' } });
  const clients = await Promise.all([WebSocketClient.open(url), WebSocketClient.open(url)]);
  expect(await WebSocketClient.statusOfUpgrade(url)).toBe(503);
  const socket = await connectRaw(origin);
  const upgrade = [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${'A'.repeat(22)}==`,
  ];
  socket.write(requestOf(['GET /graphql HTTP/1.1', 'Host: localhost', ...upgrade]));
  const refusal = await readToEnd(socket);
  expect(refusal).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n[^]*\r\nretry-after: 1\r\n/);
  expect(refusal).toContain('at most 2 WebSockets');
  expect(refusal).toContain('"extensions":{"code":"UNAVAILABLE","retryable":true,"applied":false}');
  await clients[0].close();
  expect(await WebSocketClient.statusOfUpgrade(url)).toBe(101);
});

test('a WebSocket that sends no connection_init in time is closed, and told how long it had', async () => {
  const client = await WebSocketClient.connect((await startTestApp({ env: { INIT_TIMEOUT_MS: '20' } })).url);
  expect(await client.closed).toEqual({ code: 4408, reason: 'connection_init must come within 20 ms' });
});

test('an operation more than a WebSocket may have is refused, until another one has ended', async () => {
  const { url } = await startTestApp({ env: { MAX_OPERATIONS_PER_WEBSOCKET: '2' } });
  const client = await WebSocketClient.open(url);
  for (const id of ['1', '2']) {
    client.subscribe(id, WATCH);
    await client.expect('next');
  }
  client.subscribe('3', VERSION);
  const [error] = (await client.expect('error')).payload;
  expect(error.extensions.code).toBe('OPERATION_LIMIT_EXCEEDED');
  expect(error.message).toContain('at most 2 operations');
  client.send({ type: 'complete', id: '1' });
  await expect
    .poll(async () => {
      client.subscribe('3', VERSION);
      const { type } = await client.next();
      if (type === 'next') await client.expect('complete');
      return type;
    })
    .toBe('next');
});

test('a subscription more than a server may have is refused as UNAVAILABLE, until another one has ended', async () => {
  const { url } = await startTestApp({ env: { MAX_SUBSCRIPTIONS: '2' } });
  const [first, second] = await Promise.all([WebSocketClient.open(url), WebSocketClient.open(url)]);
  for (const client of [first, second]) {
    client.subscribe('1', WATCH);
    await client.expect('next');
  }
  expectUnavailable(await overWebSocket(url, WATCH), '2 subscriptions');
  expectUnavailable(await overEvents(url, WATCH), '2 subscriptions');
  // Queries are not meant.
  expect((await overPost(url, VERSION)).code).toBeUndefined();

  first.send({ type: 'complete', id: '1' });
  await expect.poll(async () => (await overEvents(url, WATCH)).code).toBeUndefined();
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

test('an event stream more than a server may have is refused, until another one has ended', async () => {
  const app = await startTestApp({ env: { MAX_EVENT_STREAMS: '2' } });
  const ended = new AbortController();
  onTestFinished(() => ended.abort());
  const ask = (signal: AbortSignal) =>
    fetch(`${app.url}?query=${encodeURIComponent(WATCH)}`, { headers: { accept: 'text/event-stream' }, signal });
  const first = new AbortController();
  await Promise.all([ask(first.signal), ask(ended.signal)]);
  expect(await app.metric('holdfast_event_streams')).toBe(2);
  expectUnavailable(await overEvents(app.url, WATCH), '2 event streams');
  first.abort();
  await expect.poll(async () => (await overEvents(app.url, WATCH)).code).toBeUndefined();
  ended.abort();
});

test('a document is read once, for whichever transport; of the others as many are kept as may be', async () => {
  const { url, metric } = await startTestApp({ env: { CACHED_DOCUMENTS: '2' } });
  const counts = async () => [
    await metric('holdfast_document_cache_hits_total'),
    await metric('holdfast_document_cache_misses_total'),
  ];
  for (const ask of Object.values(TRANSPORTS)) await ask(url, VERSION);
  expect(await counts()).toEqual([2, 1]);
  for (const query of ['{ a: __typename }', VERSION, '{ b: __typename }', VERSION, '{ a: __typename }']) await post(url, query);
  expect(await counts()).toEqual([4, 4]);
});
