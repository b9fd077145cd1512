import { once } from 'node:events';
import { createServer } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import type { Logger } from '../../src/observability/logger.js';
import { DEFAULT_LIMITS } from '../../src/server/limits.js';
import { WebSocketTransport, type WebSocketOptions } from '../../src/server/websocket.js';
import { startTestApp } from '../support/app.js';
import { ACQUIRE, acquireLock } from '../support/http-client.js';
import { shared } from '../support/shared.js';
import { WebSocketClient } from '../support/websocket-client.js';

const WATCH = 'subscription ($resource: String) { lockChanges(filter: { resource: $resource }) { __typename } }';

const app = shared(() => startTestApp());
const appOfOrigin = shared(() => startTestApp({ env: { ALLOWED_ORIGINS: 'https://app.example' } }));

describe('a connection', () => {
  test('that sends no JSON is closed with 4400', async () => {
    const client = await WebSocketClient.connect((await app()).url);
    client.send('hello');
    expect(await client.closed).toMatchObject({ code: 4400 });
  });

  test('that sends what only servers send is closed with 4400', async () => {
    const client = await WebSocketClient.open((await app()).url);
    client.send({ type: 'complete', id: 'unknown' });
    client.send({ type: 'connection_ack' });
    expect(await client.closed).toMatchObject({ code: 4400 });
  });

  test('that pings with what is nested more deeply than can be written is closed with 4400, and that is no fault of the server', async () => {
    const { url, logLines } = await startTestApp();
    const client = await WebSocketClient.connect(url);
    client.send(`{"type":"ping","payload":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`);
    expect(await client.closed).toMatchObject({ code: 4400, reason: 'The payload of a ping is nested too deeply' });
    expect(logLines.filter((line) => line.includes('failed'))).toEqual([]);
  });

  test('that subscribes before it is acknowledged is closed with 4401', async () => {
    const client = await WebSocketClient.connect((await app()).url);
    client.subscribe('1', '{ server { version } }');
    expect(await client.closed).toMatchObject({ code: 4401 });
  });

  test('of a client that offers another sub-protocol alone is opened without one, and closed with 4406', async () => {
    const { url } = await app();
    // Offered behind the client's back, which would not take an answer without it.
    const socket = new WebSocket(url.replace(/^http/, 'ws'), { headers: { 'sec-websocket-protocol': 'graphql-ws' } });
    const closed = once(socket, 'close') as Promise<[number]>;
    await once(socket, 'open');
    expect(socket.protocol).toBe('');
    expect((await closed)[0]).toBe(4406);
  });

  test.each([
    ['short', '1'],
    ['long', 'x'.repeat(1_000)],
  ])('that uses a %s id twice at once is closed with 4409', async (_, id) => {
    const client = await WebSocketClient.open((await app()).url);
    client.subscribe(id, WATCH, { resource: 'a' });
    client.subscribe(id, WATCH, { resource: 'a' });
    expect(await client.closed).toMatchObject({ code: 4409 });
  });

  test('that initialises twice is closed with 4429', async () => {
    const client = await WebSocketClient.open((await app()).url);
    client.send({ type: 'connection_init' });
    expect(await client.closed).toMatchObject({ code: 4429 });
  });

  test.each([
    ['as much as a message may hold is read, and', DEFAULT_LIMITS.messageBytes, 4400],
    ['one byte more', DEFAULT_LIMITS.messageBytes + 1, 1009],
  ])('that sends %s is closed with its code', async (_, bytes, code) => {
    const client = await WebSocketClient.connect((await app()).url);
    client.send('x'.repeat(bytes));
    expect((await client.closed).code).toBe(code);
  });

  test.each([
    ['bytes, though they be a message,', true, JSON.stringify({ type: 'connection_init' }), 1003],
    ['text that is no UTF-8', false, Buffer.from('{"type":"\xff"}', 'latin1'), 1007],
  ])('that sends %s is closed with its code', async (_, binary, message, code) => {
    const client = await WebSocketClient.connect((await app()).url);
    client.socket.send(message, { binary });
    expect((await client.closed).code).toBe(code);
  });

  test('gets no compression', async () => {
    const client = await WebSocketClient.connect((await app()).url, { perMessageDeflate: true });
    expect(client.socket.extensions).toBe('');
  });

  test('may ping, before and after it is acknowledged', async () => {
    const client = await WebSocketClient.connect((await app()).url);
    client.send({ type: 'ping', payload: { n: 1 } });
    expect(await client.next()).toEqual({ type: 'pong', payload: { n: 1 } });
    client.send({ type: 'connection_init' });
    await client.expect('connection_ack');
    client.send({ type: 'ping', payload: { n: 2 } });
    expect(await client.next()).toEqual({ type: 'pong', payload: { n: 2 } });
  });

  test('has its operations above the cap refused, and goes on with the others', async () => {
    const { url } = await startTestApp();
    const client = await WebSocketClient.open(url);
    const asked = DEFAULT_LIMITS.operationsPerSocket + 500;
    for (let id = 0; id < asked; id++) client.subscribe(String(id), WATCH, { resource: 'cap' });
    const seen = { next: 0, error: 0 };
    while (seen.next + seen.error < asked) {
      const { type, payload } = await client.next();
      if (type === 'error') {
        expect(payload[0].extensions.code).toBe('OPERATION_LIMIT_EXCEEDED');
        seen.error += 1;
      } else seen.next += 1;
    }
    expect(seen).toEqual({ next: DEFAULT_LIMITS.operationsPerSocket, error: 500 });

    await acquireLock(url, 'cap', 'A');
    const told = new Set<string | undefined>();
    while (told.size < DEFAULT_LIMITS.operationsPerSocket) {
      const { id, payload } = await client.expect('next');
      // Where all this took its time, there are bookmarks, too.
      if (payload.data.lockChanges.__typename === 'LockEvent') told.add(id);
    }
  });
});

describe('an operation over a socket', () => {
  test('answers and completes', async () => {
    const client = await WebSocketClient.open((await app()).url);
    const { data } = await client.run(ACQUIRE, { input: { resource: 'answered', owner: 'A' } });
    expect(data.acquireLock).toMatchObject({ __typename: 'LockAcquired', lock: { owner: 'A' } });
  });

  test.each([
    ['a syntax error', '{ lock(', 'GRAPHQL_PARSE_FAILED'],
    ['an unknown field', '{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    ['nesting that would overflow the parser', '{'.repeat(100_000), 'OPERATION_LIMIT_EXCEEDED'],
  ])('with %s is refused, and the socket stays open', async (_, query, code) => {
    const client = await WebSocketClient.open((await app()).url);
    client.subscribe('1', query);
    const { payload } = await client.expect('error');
    expect(payload[0].extensions.code).toBe(code);
    expect((await client.run('{ server { version } }')).data.server.version).toEqual(expect.any(String));
  });

  test('with variables that can not be read answers BAD_USER_INPUT', async () => {
    const client = await WebSocketClient.open((await app()).url);
    const { errors, data } = await client.run(ACQUIRE, { input: { resource: 7 } });
    expect(data).toBeUndefined();
    expect(errors[0].extensions.code).toBe('BAD_USER_INPUT');
  });

  test('that completes at once leaves nothing behind', async () => {
    const app = await startTestApp();
    const client = await WebSocketClient.open(app.url);
    const count = 200;
    for (let id = 0; id < count; id++) {
      client.subscribe(String(id), WATCH, { resource: 'never' });
      client.send({ type: 'complete', id: String(id) });
    }
    // Each is set up, though it is over by then: only after that can nothing of it be left.
    const setUp = 'holdfast_operations_total{type="subscription",transport="websocket",result="ok"}';
    await expect.poll(() => app.metric(setUp).catch(() => 0)).toBe(count);
    await expect.poll(() => app.metric('holdfast_watchers')).toBe(0);
  });

  test('that watches what others watch, too, tells the same under its own id, whatever characters that has', async () => {
    const { url } = await app();
    const client = await WebSocketClient.open(url);
    const ids = ['1', '"\\\u2028', '😀'];
    for (const id of ids) client.subscribe(id, WATCH, { resource: 'watched' });
    const begun = [await client.next(), await client.next(), await client.next()];
    expect(begun.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    await acquireLock(url, 'watched', 'A');
    const messages = [await client.next(), await client.next(), await client.next()];
    const told = ids.map((id) => ({ type: 'next', id, payload: { data: { lockChanges: { __typename: 'LockEvent' } } } }));
    expect(new Set(messages)).toEqual(new Set(told));
  });

  test('sees the change another client makes', async () => {
    const { url } = await app();
    const client = await WebSocketClient.open(url);
    client.subscribe('w', WATCH, { resource: 'seen' });
    expect((await client.expect('next')).payload.data.lockChanges.__typename).toBe('LockSnapshot');
    await acquireLock(url, 'seen', 'A');
    expect((await client.expect('next')).payload.data.lockChanges.__typename).toBe('LockEvent');
  });
});

describe('the upgrade', () => {
  test.each([
    ['a foreign origin', 'https://evil.example', 403],
    ['an opaque origin', 'null', 403],
    ['a listed origin', 'https://app.example', 101],
  ])('of %s answers as it should', async (_, origin, status) => {
    const { url } = await appOfOrigin();
    expect(await WebSocketClient.statusOfUpgrade(url, { headers: { origin } })).toBe(status);
  });

  test("of the server's own origin, and of none, is taken", async () => {
    const { url, origin } = await app();
    expect(await WebSocketClient.statusOfUpgrade(url, { headers: { origin } })).toBe(101);
    expect(await WebSocketClient.statusOfUpgrade(url)).toBe(101);
  });

  test('that fails as nobody foresaw is cut off and logged, and nothing else ends', () => {
    const server = createServer();
    const error = vi.fn();
    const socket = new PassThrough();
    new WebSocketTransport(server, { logger: { error } as unknown as Logger, limits: DEFAULT_LIMITS } as WebSocketOptions);
    server.emit('upgrade', { headers: null }, socket, Buffer.alloc(0));
    expect(socket.destroyed).toBe(true);
    expect(error).toHaveBeenCalledWith({ err: expect.any(TypeError) as TypeError }, 'an upgrade failed');
  });

  test('on another path is not found', async () => {
    const { origin } = await app();
    expect(await WebSocketClient.statusOfUpgrade(`${origin}/other`)).toBe(404);
  });
});
