import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { Metrics } from '../../src/observability/metrics.js';
import { Connections, SPARE } from '../../src/server/connections.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { WebSocketClient } from '../support/websocket-client.js';
import { connectRaw, readToEnd, requestOf } from './raw-http.js';

const BODY = JSON.stringify({ query: '{ server { version } }' });
const POST = requestOf(['POST /graphql HTTP/1.1', 'host: localhost', 'content-type: application/json'], BODY);
const get = (path: string) => requestOf([`GET ${path} HTTP/1.1`, 'host: localhost']);

afterEach(() => {
  vi.useRealTimers();
});

/** An application of which as many connections are open as may be: nobody asks anything on them. */
async function fullApp(limit: number): Promise<{ app: TestApp; open: Socket[] }> {
  const app = await startTestApp({ env: { MAX_CONNECTIONS: String(limit) } });
  const open = await Promise.all(Array.from({ length: limit }, () => connectRaw(app.origin)));
  await expect.poll(() => app.metric('holdfast_connections')).toBe(limit);
  return { app, open };
}

async function ask(origin: string, request: string): Promise<string> {
  const socket = await connectRaw(origin);
  socket.write(request);
  return readToEnd(socket);
}

test('a connection more than a server may have is told so, until another one has gone', async () => {
  const { app, open } = await fullApp(2);
  const refusal = await ask(app.origin, POST);
  expect(refusal).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
  expect(refusal).toContain('\r\nretry-after: 1\r\n');
  expect(refusal).toContain('\r\nconnection: close\r\n');
  expect(JSON.parse(refusal.split('\r\n\r\n')[1] ?? '')).toEqual({
    errors: [
      {
        message: 'The server may have at most 2 connections open, and has as many: try another instance',
        extensions: { code: 'UNAVAILABLE', retryable: true, applied: false },
      },
    ],
  });
  open[0]?.destroy();
  await expect.poll(() => app.metric('holdfast_connections')).toBe(1);
  const socket = await connectRaw(app.origin);
  socket.write(POST);
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
});

test('a WebSocket counts as a connection, and one more than there may be is refused', async () => {
  const { url, metric } = await startTestApp({ env: { MAX_CONNECTIONS: '1' } });
  const client = await WebSocketClient.open(url);
  expect(await metric('holdfast_connections')).toBe(1);
  expect(await WebSocketClient.statusOfUpgrade(url)).toBe(503);
  await client.close();
  await expect.poll(() => metric('holdfast_websockets')).toBe(0);
  await expect.poll(() => WebSocketClient.statusOfUpgrade(url)).toBe(101);
});

test('a request whose upgrade is ignored is still on the same connection', async () => {
  const { origin, metric } = await startTestApp();
  const socket = await connectRaw(origin);
  const h2c = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'];
  socket.write(requestOf(['GET /health/live HTTP/1.1', 'host: localhost', ...h2c]));
  await once(socket, 'data');
  // That on which it is asked is the other one.
  expect(await metric('holdfast_connections')).toBe(2);
});

test('on a server that is full it is seen that it lives and what it does, and that it takes nobody more', async () => {
  const { app } = await fullApp(1);
  const refused = await app.metric('holdfast_connections_refused_total');
  expect(await ask(app.origin, get('/health/live'))).toMatch(
    /^HTTP\/1\.1 200 OK\r\n(?=[^]*\bconnection: close\r\n)[^]*\r\nalive\n\r\n/,
  );
  expect(await ask(app.origin, get('/health/ready'))).toMatch(/^HTTP\/1\.1 503 /);
  expect(await app.metric('holdfast_connections_refused_total')).toBe(refused + 3);
});

test('of the connections that are too many only so many are answered, and the others closed', async () => {
  const { app } = await fullApp(1);
  const waiting = await Promise.all(Array.from({ length: SPARE }, () => connectRaw(app.origin)));
  const socket = await connectRaw(app.origin);
  expect(await readToEnd(socket)).toBe('');
  waiting[0]?.write(get('/health/live'));
  expect(await readToEnd(waiting[0]!)).toContain('alive');
  await expect.poll(() => ask(app.origin, get('/health/live'))).toContain('alive');
});

test('a connection that is too many is cut off where it asks for nothing', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  new Connections(1, new Metrics(() => Promise.resolve(0))).count(server);
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const accepted = once(server, 'connection');
  await connectRaw(origin);
  await accepted;
  const refused = once(server, 'connection');
  const socket = await connectRaw(origin);
  await refused;
  const ended = readToEnd(socket);
  vi.advanceTimersByTime(4_999);
  expect(socket.readyState).toBe('open');
  vi.advanceTimersByTime(1);
  expect(await ended).toBe('');
});
