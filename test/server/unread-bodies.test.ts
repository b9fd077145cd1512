import type { Socket } from 'node:net';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { shared } from '../support/shared.js';
import { connectRaw, readToEnd, requestOf } from './raw-http.js';

const LIMIT = 20_000;
/** More than the systems of both sides keep for a reader. */
const LARGE = 'x'.repeat(8 * 1_048_576);
const JSON_POST = ['POST /graphql HTTP/1.1', 'host: localhost', 'content-type: application/json'];
const WEBSOCKET = ['connection: upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'];

const app = shared(() => startTestApp({ env: { MAX_MESSAGE_BYTES: String(LIMIT) } }));

const inChunks = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

/** Sends all of it before it reads anything. */
async function sendAll(socket: Socket, bytes: string): Promise<void> {
  socket.pause();
  if (!socket.write(bytes)) await once(socket, 'drain');
}

describe('a client that sends all of a large body before it reads is answered', () => {
  test.each([
    ['413 where it is too large, as long as it says', 413, requestOf(JSON_POST, LARGE)],
    ['413 where it is too large, in chunks', 413, requestOf([...JSON_POST, 'transfer-encoding: chunked']) + inChunks(LARGE)],
    ['403 where its origin is not allowed', 403, requestOf([...JSON_POST, 'origin: https://evil.example'], LARGE)],
    ['404 where there is nothing', 404, requestOf(['POST /other HTTP/1.1', 'host: localhost'], LARGE)],
    ['405 where only GET is taken', 405, requestOf(['POST /metrics HTTP/1.1', 'host: localhost'], LARGE)],
    ['405 where only GET and POST are taken', 405, requestOf(['PUT /graphql HTTP/1.1', 'host: localhost'], LARGE)],
    ['406 where it takes no type of ours', 406, requestOf([...JSON_POST, 'accept: image/png'], LARGE)],
    ['415 where it is no JSON', 415, requestOf(['POST /graphql HTTP/1.1', 'host: localhost'], LARGE)],
    ['421 where the service has another name', 421, requestOf(['POST /graphql HTTP/1.1', 'host: evil.example'], LARGE)],
    ['403 where it asks for a WebSocket', 403, requestOf([...JSON_POST, ...WEBSOCKET, 'origin: https://evil.example'], LARGE)],
    ['400 where it is no HTTP', 400, `NONE / HTTP/1.1\r\n\r\n${LARGE}`],
    ['400 where its chunks are broken', 400, requestOf([...JSON_POST, 'transfer-encoding: chunked']) + `z\r\n${LARGE}`],
    ['431 where its headers are too large', 431, requestOf([...JSON_POST, `x: ${LARGE}`])],
  ])('%s', async (_, status, bytes) => {
    const socket = await connectRaw((await app()).origin);
    await sendAll(socket, bytes);
    const answer = await readToEnd(socket);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer.toLowerCase()).toContain('\r\nconnection: close\r\n');
    expect(answer.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(body).toHaveLength(Number(/content-length: (\d+)/i.exec(head)?.[1] ?? body.length));
    if (head.includes('json')) expect(JSON.parse(body)).toHaveProperty('errors.0.extensions.code');
  });
});
