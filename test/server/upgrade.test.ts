import { once } from 'node:events';
import { createServer } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { ignoreUpgrade } from '../../src/server/upgrade.js';
import { startTestApp } from '../support/app.js';
import { connectRaw, readToEnd, requestOf } from './raw-http.js';

const BODY = JSON.stringify({ query: '{ lock(resource: "job:1") { owner } }' });
/** What Java's HttpClient and `curl --http2` add to their first request. */
const H2C = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'];
const CLOSE = ['Connection: close', 'Upgrade: h2c', 'Connection: upgrade'];
const POST = ['POST /graphql HTTP/1.1', 'Host: localhost', 'Content-Type: application/json'];

const NO_LOCK = '{"data":{"lock":null}}';

describe('a request that would rather have HTTP/2', () => {
  test('is answered in HTTP/1.1, and so is what comes after it on the connection', async () => {
    const socket = await connectRaw((await startTestApp()).origin);
    const answers: string[] = [];
    for (const request of [
      requestOf([...POST, ...H2C], BODY),
      requestOf(['GET /health/live HTTP/1.1', 'Host: localhost', ...H2C]),
      requestOf([...POST, ...H2C], BODY),
    ]) {
      socket.write(request);
      answers.push(String((await once(socket, 'data'))[0]));
    }
    expect(answers.map((text) => text.split('\r\n', 1)[0])).toEqual(Array.from({ length: 3 }, () => 'HTTP/1.1 200 OK'));
    expect(answers).toEqual([NO_LOCK, 'alive\n', NO_LOCK].map((body) => expect.stringContaining(body) as string));
  });

  test('is answered where its body comes later, byte by byte', async () => {
    const socket = await connectRaw((await startTestApp()).origin);
    socket.setNoDelay(true);
    const request = requestOf([...POST, ...CLOSE], BODY);
    const head = request.length - BODY.length;
    socket.write(request.slice(0, head));
    for (const byte of request.slice(head)) {
      await new Promise((resolve) => setImmediate(resolve));
      socket.write(byte);
    }
    const text = await readToEnd(socket);
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(text).toContain(NO_LOCK);
  });

  test('keeps its other headers, and is not let by whom it would not be otherwise', async () => {
    const socket = await connectRaw((await startTestApp()).origin);
    socket.write(requestOf([...POST, ...CLOSE, 'Origin: https://evil.example', 'X-Request-Id: trace-1'], BODY));
    const text = await readToEnd(socket);
    expect(text).toMatch(/^HTTP\/1.1 403 /);
    expect(text).toContain('x-request-id: trace-1');
  });

  test('is one request, however many headers it has', async () => {
    const socket = await connectRaw((await startTestApp()).origin);
    const many = Array.from({ length: 1_100 }, () => 'a:');
    socket.write(requestOf([...POST, ...CLOSE, ...many], BODY.padEnd(200)));
    const text = await readToEnd(socket);
    expect(text).toContain(NO_LOCK);
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  });
});

test.each(['h2c', 'h2c, websocket', 'TLS/1.0', ''])(
  'a request for the upgrade "%s" is parsed once more, and asks for none then',
  (protocol) => {
    const socket = new PassThrough();
    const rawHeaders = ['Host', 'x', 'UPGRADE', protocol, 'upgrade', 'h2c', 'connection', 'Upgrade ,close', 'http2-Settings', 'x'];
    const request = { method: 'GET', url: '/a?b', httpVersion: '1.1', rawHeaders };
    const server = createServer();
    server.removeAllListeners('connection');
    ignoreUpgrade(server, request as never, socket, Buffer.from('rest'));
    expect(String(socket.read())).toBe('GET /a?b HTTP/1.1\r\nHost: x\r\nconnection: close\r\n\r\nrest');
  },
);
