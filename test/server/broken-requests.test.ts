import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { holdWriteLock } from '../support/database-faults.js';
import { ACQUIRE, post } from '../support/http-client.js';
import { shared } from '../support/shared.js';
import { connectRaw, readToEnd, requestOf } from './raw-http.js';

const POST = ['POST /graphql HTTP/1.1', 'host: localhost', 'content-type: application/json'];
const BROKEN = 'NONE / HTTP/1.1\r\n\r\n';
const app = shared(() => startTestApp());

const acquire = (resource: string) =>
  requestOf(POST, JSON.stringify({ query: ACQUIRE, variables: { input: { resource, owner: 'A' } } }));
const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));

/** All that comes back for what is sent at once; `meanwhile` comes between. */
async function exchange(origin: string, bytes: string, meanwhile = () => Promise.resolve()): Promise<string> {
  const socket = await connectRaw(origin);
  socket.write(bytes);
  const received = readToEnd(socket);
  await meanwhile();
  return received;
}

test('what can not be read as a request is refused, and says what is the matter', async () => {
  const text = await exchange((await app()).origin, BROKEN);
  expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(text).toMatch(/\r\nx-content-type-options: nosniff\r\n[^]*\r\nx-request-id: [\w-]{36}\r\n/);
  expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toEqual({
    errors: [{ message: 'The request is not one of HTTP/1.1', extensions: { code: 'BAD_USER_INPUT' } }],
  });
});

test('a broken request behind one whose long answer is being written is refused when that has been sent', async () => {
  const page = requestOf(['GET /graphql HTTP/1.1', 'host: localhost', 'accept: text/html']);
  const text = await exchange((await app()).origin, page + BROKEN);
  expect(statusesIn(text)).toEqual([200, 400]);
  expect(text).toContain('</html>');
});

test('a broken request behind mutations that are under way is refused when these are answered, in their order', async () => {
  const { origin, url, databaseUrl } = await startTestApp();
  const free = await holdWriteLock(databaseUrl);
  const text = await exchange(origin, acquire('one') + acquire('two') + BROKEN, free);
  expect(statusesIn(text)).toEqual([200, 200, 400]);
  expect(text.match(/"resource":"\w+"/g)).toEqual(['"resource":"one"', '"resource":"two"']);
  expect((await post(url, '{ locks { totalCount } }')).data).toEqual({ locks: { totalCount: 2 } });
});

test('a request whose own body is broken is refused behind the answers to those before it', async () => {
  const { origin, databaseUrl } = await startTestApp();
  const free = await holdWriteLock(databaseUrl);
  const broken = requestOf([...POST, 'transfer-encoding: chunked']) + 'z\r\n';
  const text = await exchange(origin, acquire('one') + broken, free);
  expect(statusesIn(text)).toEqual([200, 400]);
  expect(text).toContain('LockAcquired');
});

test('a request that was refused before its body broke is refused once', async () => {
  const broken = requestOf(['POST /graphql HTTP/1.1', 'host: localhost', 'transfer-encoding: chunked']) + 'z\r\n';
  expect(statusesIn(await exchange((await app()).origin, broken))).toEqual([415]);
});

test('what comes behind a request that is said to be the last does not take the place of its answer', async () => {
  const { origin, databaseUrl } = await startTestApp();
  const free = await holdWriteLock(databaseUrl);
  const last = acquire('one').replace('host:', 'connection: close\r\nhost:');
  const text = await exchange(origin, last + acquire('two'), free);
  expect(statusesIn(text)).toEqual([200]);
  expect(text).toContain('LockAcquired');
});

test.each([
  ['a tunnel', requestOf(['CONNECT localhost:80 HTTP/1.1', 'host: localhost']), 405],
  [
    'a WebSocket elsewhere',
    requestOf(['GET /other HTTP/1.1', 'host: localhost', 'connection: upgrade', 'upgrade: websocket']),
    404,
  ],
])('a request for %s is refused behind the answers to those before it', async (_, request, status) => {
  const { origin, databaseUrl } = await startTestApp();
  const free = await holdWriteLock(databaseUrl);
  const text = await exchange(origin, acquire('one') + request, free);
  expect(statusesIn(text)).toEqual([200, status]);
  expect(text).toContain('LockAcquired');
});

test('a request whose upgrade is ignored is answered behind those before it', async () => {
  const { origin, databaseUrl } = await startTestApp();
  const free = await holdWriteLock(databaseUrl);
  const upgrade = ['GET /health/live HTTP/1.1', 'host: localhost', 'upgrade: h2c', 'connection: upgrade, close'];
  const text = await exchange(origin, acquire('one') + requestOf(upgrade), free);
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*LockAcquired[^]*HTTP\/1\.1 200 OK\r\n[^]*\r\nalive\n\r\n/);
});

test('a request that ends in its midst is refused', async () => {
  const socket = await connectRaw((await app()).origin);
  socket.end('GET /graphql HTT');
  expect(statusesIn(await readToEnd(socket))).toEqual([400]);
});
