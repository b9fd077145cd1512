import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { normaliseTarget } from '../../src/server/target.js';
import { startTestApp } from '../support/app.js';
import { connectRaw, readToEnd, requestOf } from './raw-http.js';

const BODY = JSON.stringify({ query: '{ lock(resource: "job:1") { owner } }' });
const QUERY = encodeURIComponent('{ lock(resource: "job:1") { owner } }');
const CLOSE = 'Connection: close';
const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  `Sec-WebSocket-Key: ${'A'.repeat(22)}==`,
];

async function statusOf(origin: string, lines: readonly string[], body = ''): Promise<string | undefined> {
  const socket = await connectRaw(origin);
  socket.write(requestOf(lines, body));
  if (lines.includes(CLOSE)) return (await readToEnd(socket)).split(' ')[1];
  return new Promise((resolve) => socket.once('data', (data) => resolve(String(data).split(' ')[1])));
}

describe('a target in absolute form', () => {
  test('is answered as its path would be', async () => {
    const { origin } = await startTestApp({ env: { ALLOWED_HOSTS: 'any.example' } });
    const json = 'Content-Type: application/json';
    expect(await statusOf(origin, [`POST ${origin}/graphql HTTP/1.1`, 'Host: x', json, CLOSE], BODY)).toBe('200');
    expect(await statusOf(origin, [`GET HTTP://any.example/graphql?query=${QUERY} HTTP/1.1`, 'Host: x', CLOSE])).toBe('200');
    expect(await statusOf(origin, [`GET ${origin}/health/live HTTP/1.1`, 'Host: x', CLOSE])).toBe('200');
    expect(await statusOf(origin, [`GET ${origin} HTTP/1.1`, 'Host: x', CLOSE])).toBe('404');
    expect(await statusOf(origin, [`GET ${origin}/graphql HTTP/1.1`, 'Host: x', ...UPGRADE])).toBe('101');
  });

  test('names the host by which an origin is its own, whatever the Host header says', async () => {
    const { origin } = await startTestApp();
    const { host } = new URL(origin);
    const from = (page: string) => ['Content-Type: application/json', `Origin: ${page}`, CLOSE];
    expect(await statusOf(origin, [`POST ${origin}/graphql HTTP/1.1`, 'Host: x', ...from(origin)], BODY)).toBe('200');
    expect(await statusOf(origin, [`POST http://127.0.0.1:1/graphql HTTP/1.1`, `Host: ${host}`, ...from(origin)], BODY)).toBe(
      '403',
    );
  });
});

test.each([
  ['http://h:1/a?b=http://c/', '/a?b=http://c/', 'h:1'],
  ['http://h', '/', 'h'],
  ['https://h?b', '/?b', 'h'],
  ['/http://h/a', '/http://h/a', 'own'],
  ['*', '*', 'own'],
  ['ftp://h/a', 'ftp://h/a', 'own'],
  ['http://user@h/a', 'http://user@h/a', 'own'],
])('the target %s is %s of the host %s', (target, url, host) => {
  const request = { url: target, headers: { host: 'own' } } as unknown as IncomingMessage;
  normaliseTarget(request);
  expect([request.url, request.headers.host]).toEqual([url, host]);
});
