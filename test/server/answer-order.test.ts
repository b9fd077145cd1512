import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { holdWriteLock } from '../support/database-faults.js';
import { ACQUIRE, post } from '../support/http-client.js';
import { connectRaw, readToEnd, requestOf } from './raw-http.js';
import { TRANSPORTS } from './transports.js';

const POST = ['POST /graphql HTTP/1.1', 'host: localhost', 'content-type: application/json'];

const acquire = (resource: string, headers: readonly string[] = []) =>
  requestOf([...POST, ...headers], JSON.stringify({ query: ACQUIRE, variables: { input: { resource, owner: 'A' } } }));

test('what is asked behind a request with whose refusal the connection ends is not done', async () => {
  const { origin, url } = await startTestApp();
  const socket = await connectRaw(origin);
  socket.write(acquire('one') + acquire('two', ['origin: https://evil.example']) + acquire('three') + acquire('four'));
  const text = await readToEnd(socket);
  expect([...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status)).toEqual(['200', '403']);
  const { data } = await post(url, '{ locks { edges { node { resource } } } }');
  expect(data?.['locks'].edges).toEqual([{ node: { resource: 'one' } }]);
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
