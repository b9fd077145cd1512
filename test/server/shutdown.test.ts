import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { expect, test, vi } from 'vitest';
import { Health } from '../../src/server/health.js';
import type { HttpServer } from '../../src/server/http.js';
import type { Operations } from '../../src/server/operations.js';
import { closeAll, shutDown } from '../../src/server/shutdown.js';
import type { WebSocketTransport } from '../../src/server/websocket.js';
import { startTestApp } from '../support/app.js';
import { connectRaw, readToEnd, requestOf } from './raw-http.js';

test('what was opened is closed in the reverse order', async () => {
  const closed: string[] = [];
  await closeAll(['store', 'client', 'engine'].map((name) => async () => void closed.push(name)));
  expect(closed).toEqual(['engine', 'client', 'store']);
});

test('what can not be closed keeps nothing else open, and the first reason is told', async () => {
  const closed: string[] = [];
  const closing = closeAll([
    async () => void closed.push('store'),
    () => Promise.reject(new Error('second')),
    () => {
      throw new Error('first');
    },
  ]);
  await expect(closing).rejects.toThrow('first');
  expect(closed).toEqual(['store']);
});

test('a transport that can not be closed does not keep the services open', async () => {
  const closeServices = vi.fn(() => Promise.resolve());
  const shutting = shutDown({
    health: new Health(() => Promise.resolve()),
    http: {
      stopListening: () => undefined,
      drain: () => Promise.resolve(),
      closeConnections: () => undefined,
    } as unknown as HttpServer,
    operations: { drain: () => Promise.resolve() } as unknown as Operations,
    webSockets: { close: () => Promise.reject(new Error('stuck')) } as unknown as WebSocketTransport,
    stopWaiting: () => Promise.resolve(),
    closeServices,
  });
  await expect(shutting).rejects.toThrow('stuck');
  expect(closeServices).toHaveBeenCalledOnce();
});

test.each(['application/json', 'text/event-stream'])(
  'an operation that comes too late, from a client that takes %s, may be tried again after a second',
  async (accept) => {
    const app = await startTestApp();
    const body = JSON.stringify({ query: '{ server { version } }' });
    // What the first of its kind needs is loaded while it waits.
    await (await fetch(app.url, { method: 'POST', headers: { accept, 'content-type': 'application/json' }, body })).text();
    const headers = { accept, 'content-type': 'application/json', 'content-length': body.length, expect: '100-continue' };
    const late = request(app.url, { method: 'POST', headers });
    const answered = once(late, 'response') as Promise<[IncomingMessage]>;
    late.flushHeaders();
    // Now the server waits for the body.
    await once(late, 'continue');
    const closed = app.close();
    late.end(body);
    const [response] = await answered;
    let text = '';
    for await (const chunk of response) text += String(chunk);
    expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '1']);
    // Or the client would send its next request on a connection that is about to be cut.
    expect(response.headers.connection).toBe('close');
    expect(text).toContain('"UNAVAILABLE"');
    await closed;
  },
);

test('a request that is on its way as the shutdown begins is answered, though its connection was idle', async () => {
  const app = await startTestApp();
  const body = JSON.stringify({ query: '{ server { version } }' });
  const next = requestOf(['POST /graphql HTTP/1.1', 'Host: localhost', 'Content-Type: application/json'], body);
  const [busy, idle] = [await connectRaw(app.origin), await connectRaw(app.origin)];
  for (const socket of [busy, idle]) {
    socket.write(next);
    expect(String((await once(socket, 'data'))[0])).toContain('HTTP/1.1 200');
  }
  const closed = app.close();
  busy.write(next);
  const text = await readToEnd(busy);
  expect(text).toMatch(/^HTTP\/1.1 503 /);
  expect(text).toMatch(/^connection: close\r$/im);
  expect(text).toContain('"UNAVAILABLE"');
  expect(await readToEnd(idle)).toBe('');
  await closed;
});
