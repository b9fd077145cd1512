import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { TcpProxy } from './tcp-proxy.js';

/** Long enough for anything on its way on one machine to arrive. */
const QUIET_MS = 100;

interface Side {
  readonly socket: Socket;
  /** How the connection ended: 'end' in order, else the code of the error; null: not yet. */
  readonly ending: string | null;
  text(): string;
}

function observe(socket: Socket): Side {
  let ending: string | null = null;
  let text = '';
  socket.on('data', (bytes) => (text += bytes.toString()));
  socket.once('end', () => (ending = 'end'));
  socket.once('error', (error: NodeJS.ErrnoException) => (ending = error.code ?? 'error'));
  onTestFinished(() => void socket.destroy());
  return {
    socket,
    get ending() {
      return ending;
    },
    text: () => text,
  };
}

/** A server that only listens, a proxy in front of it, and how to connect through both. */
async function startNetwork() {
  const accepted: Side[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => accepted.push(observe(socket)));
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const proxy = await TcpProxy.start(url);
  const dial = () => observe(connect({ port: Number(new URL(proxy.through(url)).port), host: '127.0.0.1', allowHalfOpen: true }));
  const open = async () => {
    const accepting = once(server, 'connection');
    const client = dial();
    await accepting;
    return { client, server: accepted.at(-1)! };
  };
  return { proxy, dial, open, accepted };
}

test('a proxy that passes carries what each side sends, and the end of each half', async () => {
  const { open } = await startNetwork();
  const { client, server } = await open();
  client.socket.end('a question');
  await expect.poll(() => server.ending).toBe('end');
  server.socket.end('an answer');
  await expect.poll(() => client.ending).toBe('end');
  expect([server.text(), client.text()]).toEqual(['a question', 'an answer']);
});

test('a proxy that stalls carries nothing and tells nobody, and all of it in order once it passes', async () => {
  const { proxy, open } = await startNetwork();
  const { client, server } = await open();
  proxy.stall();
  client.socket.write('one ');
  server.socket.write('three ');
  await sleep(QUIET_MS);
  client.socket.end('two');
  server.socket.end('four');
  await sleep(QUIET_MS);
  expect([server.text(), server.ending, client.text(), client.ending]).toEqual(['', null, '', null]);

  proxy.pass();
  await expect.poll(() => [server.text(), server.ending]).toEqual(['one two', 'end']);
  await expect.poll(() => [client.text(), client.ending]).toEqual(['three four', 'end']);
});

test('a stall of one direction leaves the other one open', async () => {
  const { proxy, open } = await startNetwork();
  const { client, server } = await open();
  proxy.stall({ direction: 'toClient' });
  client.socket.write('a question');
  await expect.poll(() => server.text()).toBe('a question');
  server.socket.write('an answer');
  await sleep(QUIET_MS);
  expect(client.text()).toBe('');
});

test('a stall after some bytes stops in the middle of a message', async () => {
  const { proxy, open } = await startNetwork();
  const { client, server } = await open();
  proxy.stall({ direction: 'toServer', afterBytes: 5 });
  client.socket.write('a question');
  client.socket.write(' and another one');
  await sleep(QUIET_MS);
  expect(server.text()).toBe('a que');
  proxy.pass();
  await expect.poll(() => server.text()).toBe('a question and another one');
});

test('a connection made during a stall is taken, and carries nothing until it is over', async () => {
  const { proxy, dial, accepted } = await startNetwork();
  proxy.stall();
  const client = dial();
  client.socket.write('a question');
  await sleep(QUIET_MS);
  expect(accepted.map((side) => side.text()).join()).toBe('');
  proxy.pass();
  await expect.poll(() => accepted.map((side) => side.text()).join()).toBe('a question');
});

test('an answer that is to be lost is lost with its connection, after the message has arrived, and no other one is', async () => {
  const { proxy, open } = await startNetwork();
  const { client, server } = await open();
  const other = await open();
  proxy.loseAnswerTo('COMMIT', QUIET_MS);
  client.socket.write('BEGIN');
  await expect.poll(() => server.text()).toBe('BEGIN');
  server.socket.write('begun');
  await expect.poll(() => client.text()).toBe('begun');
  client.socket.write('COMMIT');
  await expect.poll(() => server.text()).toBe('BEGINCOMMIT');
  server.socket.write('committed');
  await expect.poll(() => client.ending).toBe('ECONNRESET');
  expect(client.text()).toBe('begun');

  other.client.socket.write('COMMIT');
  await expect.poll(() => other.server.text()).toBe('COMMIT');
  other.server.socket.write('committed');
  await expect.poll(() => other.client.text()).toBe('committed');
});

test('a cut resets both sides, and new connections work', async () => {
  const { proxy, open } = await startNetwork();
  const { client, server } = await open();
  proxy.cut();
  await expect.poll(() => [client.ending, server.ending]).toEqual(['ECONNRESET', 'ECONNRESET']);
  const next = await open();
  next.client.socket.write('again');
  await expect.poll(() => next.server.text()).toBe('again');
});

test('a reset of one side is a reset of the other', async () => {
  const { open } = await startNetwork();
  const { client, server } = await open();
  server.socket.resetAndDestroy();
  await expect.poll(() => client.ending).toBe('ECONNRESET');
});

test('a proxy that refuses resets new connections, and keeps those that are open', async () => {
  const { proxy, open, dial } = await startNetwork();
  const { client, server } = await open();
  proxy.refuse();
  const refused = dial();
  await expect.poll(() => refused.ending).toBe('ECONNRESET');
  client.socket.write('still here');
  await expect.poll(() => server.text()).toBe('still here');
});

test('a proxy that leads to another server keeps its address', async () => {
  const other = await startNetwork();
  const { proxy, dial } = await startNetwork();
  proxy.leadTo(other.proxy.through('http://server/'));
  dial().socket.write('hello');
  await expect.poll(() => other.accepted.map((side) => side.text()).join()).toBe('hello');
});

test('a delay comes on top of each way, and leaves the order as it is', async () => {
  const { proxy, open } = await startNetwork();
  const { client, server } = await open();
  proxy.delay(80);
  const startedAt = performance.now();
  client.socket.write('one');
  await sleep(20);
  client.socket.write('two');
  await expect.poll(() => server.text(), { interval: 1 }).toBe('onetwo');
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(99);
});

test('closing frees every connection, stalled ones too', async () => {
  const { proxy, open } = await startNetwork();
  const { client, server } = await open();
  proxy.stall();
  client.socket.write('lost');
  await sleep(QUIET_MS);
  await proxy.close();
  await expect.poll(() => [client.ending, server.ending]).toEqual(['ECONNRESET', 'ECONNRESET']);
  expect(proxy.openConnections).toBe(0);
});
