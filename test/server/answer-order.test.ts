import { PassThrough } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { behindAnswers } from '../../src/server/answer-order.js';
import { startTestApp } from '../support/app.js';
import { holdWriteLock } from '../support/database-faults.js';
import { ACQUIRE, post } from '../support/http-client.js';
import { connectRaw, readToEnd, requestOf } from './raw-http.js';
import { TRANSPORTS } from './transports.js';

const POST = ['POST /graphql HTTP/1.1', 'host: localhost', 'content-type: application/json'];

const acquire = (resource: string, headers: readonly string[] = []) =>
  requestOf([...POST, ...headers], JSON.stringify({ query: ACQUIRE, variables: { input: { resource, owner: 'A' } } }));

const EXPECTING = requestOf(['GET /health/live HTTP/1.1', 'host: localhost', 'expect: 100-continue']);

test.each([
  ['a body that is too large', requestOf(POST, ' '.repeat(2_000_000)), 413, []],
  ['a request that waits to be asked for a body', EXPECTING, 200, []],
  ['a refusal', acquire('two', ['origin: https://evil.example']), 403, []],
  [
    'a refusal, by a request for another protocol',
    acquire('two', ['origin: https://evil.example']),
    403,
    ['connection: upgrade', 'upgrade: h2c'],
  ],
  ['a request without a Host', requestOf(['POST /graphql HTTP/1.1', 'content-length: 0']), 400, []],
  [
    'a request without a Host, by a request for another protocol',
    requestOf(['POST /graphql HTTP/1.1', 'content-length: 0']),
    400,
    ['connection: upgrade', 'upgrade: h2c'],
  ],
])('what is asked behind %s is not done', async (_, ending, status, headers) => {
  const { origin, url } = await startTestApp();
  const socket = await connectRaw(origin);
  socket.write(acquire('one') + ending + acquire('three', headers) + acquire('four'));
  const text = await readToEnd(socket);
  expect([...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, told]) => Number(told))).toEqual([200, status]);
  const { data } = await post(url, '{ locks { edges { node { resource } } } }');
  expect(data?.['locks'].edges).toEqual([{ node: { resource: 'one' } }]);
});

test.each(['CONNECT localhost:80 HTTP/1.1', 'GET /graphql HTTP/1.1\r\nconnection: upgrade\r\nupgrade: h2c'])(
  'a peer that is gone before the answer to what it asked before %s does no harm',
  async (line) => {
    const { origin, url, databaseUrl } = await startTestApp();
    const free = await holdWriteLock(databaseUrl);
    const socket = await connectRaw(origin);
    socket.write(acquire('one') + requestOf([line, 'host: localhost']));
    await expect.poll(async () => (await fetch(`${origin}/metrics`)).text()).toContain('holdfast_document_cache_misses_total 1');
    socket.resetAndDestroy();
    await free();
    await expect
      .poll(async () => (await post(url, '{ locks { edges { node { resource } } } }')).data?.['locks'].edges)
      .toHaveLength(1);
  },
);

test('behind the answers on a connection that is reset, of which nobody was told yet, nothing is done, and the error is taken', async () => {
  const socket = new PassThrough();
  socket.destroy(new Error('reset'));
  const act = vi.fn();
  behindAnswers(socket, act);
  await new Promise((resolve) => socket.once('close', resolve));
  expect(act).not.toHaveBeenCalled();
});

test('requests that were sent one behind the other are all answered where the server shuts down', async () => {
  const app = await startTestApp({ env: { MAX_OPERATIONS: '3' } });
  const free = await holdWriteLock(app.databaseUrl);
  const socket = await connectRaw(app.origin);
  const received = readToEnd(socket);
  socket.write(acquire('one') + acquire('two') + acquire('three'));
  const over = TRANSPORTS['HTTP POST'];
  await expect.poll(async () => (await over(app.url, '{ server { version } }')).code).toBe('UNAVAILABLE');
  await Promise.all([app.close(), free()]);
  const text = await received;
  expect(text.match(/"LockAcquired","lock":{"resource":"\w+"/g)).toHaveLength(3);
  expect(text.match(/^connection: close\r$/gim)).toHaveLength(1);
});
