import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { holdWriteLock } from '../support/database-faults.js';
import { ACQUIRE } from '../support/http-client.js';
import { connectRaw, readToEnd, requestOf } from './raw-http.js';

const POST = ['POST /graphql HTTP/1.1', 'host: localhost', 'content-type: application/json'];
const EXPECT = 'expect: 100-continue';

const acquire = (resource: string) => JSON.stringify({ query: ACQUIRE, variables: { input: { resource, owner: 'A' } } });
const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));

test('a client that waits to be asked for its body is asked', async () => {
  const socket = await connectRaw((await startTestApp()).origin);
  const body = acquire('one');
  socket.write(requestOf([...POST, EXPECT, 'connection: close', `content-length: ${body.length}`]));
  expect(String((await once(socket, 'data'))[0])).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  socket.write(body);
  expect(await readToEnd(socket)).toContain('LockAcquired');
});

describe('behind the answer to a request before it', () => {
  /** Requests of one connection, of which the first is answered when it may be. */
  async function sendBoth(second: string) {
    const { origin, databaseUrl } = await startTestApp();
    const free = await holdWriteLock(databaseUrl);
    const socket = await connectRaw(origin);
    socket.write(requestOf(POST, acquire('one')) + second);
    return { socket, free };
  }

  test('a client that waits to be asked for its body is asked', async () => {
    const body = acquire('two');
    const head = requestOf([...POST, EXPECT, 'connection: close', `content-length: ${body.length}`]);
    const { socket, free } = await sendBoth(head);
    let text = '';
    const asked = new Promise<void>((resolve) => {
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        if (text.endsWith('HTTP/1.1 100 Continue\r\n\r\n')) resolve();
      });
    });
    await free();
    await asked;
    expect(statusesIn(text)).toEqual([200, 100]);
    socket.write(body);
    await once(socket, 'end');
    expect(text).toContain('"resource":"two"');
  });

  test('a client that said that it would wait for that, and did not, is not asked', async () => {
    const { socket, free } = await sendBoth(requestOf([...POST, EXPECT, 'connection: close'], acquire('two')));
    const received = readToEnd(socket);
    await free();
    const text = await received;
    expect(statusesIn(text)).toEqual([200, 200]);
    expect(text).toContain('"resource":"two"');
  });
});

test.each([
  ['that is too large', 413, [...POST, 'content-length: 2000000']],
  ['that is no JSON', 415, ['POST /graphql HTTP/1.1', 'host: localhost', 'content-length: 20']],
])('a client that waits to be asked for a body %s is refused instead', async (_, status, lines) => {
  const socket = await connectRaw((await startTestApp()).origin);
  socket.write(requestOf([...lines, EXPECT]));
  expect(statusesIn(await readToEnd(socket))).toEqual([status]);
});
