import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startTestApp, type TestApp } from '../support/app.js';
import { heapInUse } from '../support/heap.js';
import { ACQUIRE, acquireLock } from '../support/http-client.js';
import { rounds } from '../support/rounds.js';
import { WebSocketClient } from '../support/websocket-client.js';

/** After it a socket that is silent is closed. */
const INIT_TIMEOUT_MS = 3_000;
const PATIENCE_MS = 15_000;
const WEBSOCKETS_AT_ONCE = 20;
const STREAMS_AT_ONCE = 10;
/** Of the heap, in bytes: what one run may leave in caches, and what varies from one collection to the next. */
const HEAP = { warm: 20_000_000, again: 4_000_000 };
const QUERY = 'subscription { lockChanges(filter: { resource: "never:touched" }) { __typename } }';
const SUBSCRIBE = JSON.stringify({ type: 'subscribe', id: '1', payload: { query: QUERY } });

/** Everything of a connection, up to the subscribe, in one write; then the connection is destroyed. */
async function subscribeAndVanish(url: string, afterMs: number): Promise<void> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), 'graphql-transport-ws');
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send('{"type":"connection_init"}');
  await new Promise((resolve) => socket.once('message', resolve));
  socket.send(SUBSCRIBE);
  await sleep(afterMs);
  socket.terminate();
}

/** A stream of server-sent events whose connection is destroyed soon after it was asked for. */
async function streamAndVanish(url: string, afterMs: number): Promise<void> {
  const { hostname, port, host } = new URL(url);
  const body = JSON.stringify({ query: QUERY });
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  socket.write(
    `POST /graphql HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\ncontent-type: application/json\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  );
  await sleep(afterMs);
  socket.destroy();
}

async function vanishManyTimes(url: string): Promise<void> {
  for (let round = 0; round < rounds(100, 10); round++) {
    await Promise.all(Array.from({ length: WEBSOCKETS_AT_ONCE }, (_, n) => subscribeAndVanish(url, n % 6)));
  }
}

async function expectNothingLeft(app: TestApp): Promise<void> {
  await expect.poll(() => app.metric('holdfast_watchers'), { timeout: PATIENCE_MS }).toBe(0);
  await expect.poll(() => app.metric('holdfast_websockets'), { timeout: PATIENCE_MS }).toBe(0);
}

describe('a subscription whose client vanishes', () => {
  test('while it is set up over a WebSocket leaves nothing behind, in memory neither', async () => {
    const app = await startTestApp();
    const heap = [heapInUse()];
    for (let run = 0; run < 2; run++) {
      await vanishManyTimes(app.url);
      await expectNothingLeft(app);
      heap.push(heapInUse());
    }
    const [before = 0, once = 0, twice = 0] = heap;
    expect(once - before).toBeLessThan(HEAP.warm);
    expect(twice - once).toBeLessThan(HEAP.again);
  });

  test('while it is set up as server-sent events leaves nothing behind', async () => {
    const app = await startTestApp();
    for (let round = 0; round < rounds(50); round++) {
      await Promise.all(Array.from({ length: STREAMS_AT_ONCE }, (_, n) => streamAndVanish(app.url, n % 6)));
    }
    await expectNothingLeft(app);
  });

  test('once it runs frees its watch without an event', async () => {
    const app = await startTestApp();
    const client = await WebSocketClient.open(app.url);
    client.subscribe('1', QUERY);
    await client.expect('next');
    expect(await app.metric('holdfast_watchers')).toBe(1);
    client.socket.terminate();
    await expectNothingLeft(app);
  });

  test('and whose id was taken again before it was set up frees both watches', async () => {
    const app = await startTestApp();
    const client = await WebSocketClient.open(app.url);
    for (let n = 0; n < 50; n++) {
      client.send(SUBSCRIBE);
      client.send({ type: 'complete', id: '1' });
    }
    client.send(SUBSCRIBE);
    await client.expect('next');
    client.socket.terminate();
    await expectNothingLeft(app);
  });
});

test('a watch that waits holds on to nothing of what it has told', async () => {
  const { url } = await startTestApp();
  const [locks, watches, note] = [200, 20, 'x'.repeat(4_000)];
  const worker = await WebSocketClient.open(url);
  for (let n = 0; n < locks; n++) await worker.run(ACQUIRE, { input: { resource: `job:${n}`, owner: 'A', metadata: note } });
  const clients = await Promise.all(Array.from({ length: watches }, () => WebSocketClient.open(url)));
  const before = heapInUse();
  for (const client of clients) {
    client.subscribe('w', 'subscription { lockChanges { __typename ... on LockSnapshot { locks { metadata } } } }');
    for (let told = 0; told < locks;) {
      const part = (await client.expect('next')).payload.data.lockChanges as { locks: object[] };
      told += part.locks.length;
    }
  }
  expect(heapInUse() - before).toBeLessThan((watches * locks * note.length) / 4);
});

describe('sockets that never initialise', () => {
  test('are closed with 4408, and keep nobody else waiting', async () => {
    const { url } = await startTestApp();
    const silent = await Promise.all(Array.from({ length: 500 }, () => WebSocketClient.connect(url)));
    const started = performance.now();
    let slowest = 0;
    for (let n = 0; n < 40; n++) {
      const asked = performance.now();
      await acquireLock(url, `job:${n}`, 'A');
      slowest = Math.max(slowest, performance.now() - asked);
      await sleep(50);
    }
    const codes = await Promise.all(silent.map(async ({ closed }) => (await closed).code));
    expect(new Set(codes)).toEqual(new Set([4408]));
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(slowest).toBeLessThan(INIT_TIMEOUT_MS);
  });
});
