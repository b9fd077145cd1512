import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { closeLingering } from '../../src/server/lingering-close.js';

const MEBIBYTE = Buffer.alloc(1_048_576);

afterEach(() => {
  vi.useRealTimers();
});

/** Both ends of a connection; the peer does not end its own until it is told to. */
async function connection(): Promise<{ socket: Socket; peer: Socket }> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const peer = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  const [socket] = (await once(server, 'connection')) as [Socket];
  for (const end of [socket, peer]) end.on('error', () => undefined);
  onTestFinished(() => {
    for (const end of [socket, peer]) end.destroy();
    server.close();
  });
  return { socket, peer };
}

async function send(peer: Socket, mebibytes: number): Promise<void> {
  for (let sent = 0; sent < mebibytes && !peer.destroyed; sent++) {
    if (peer.write(MEBIBYTE)) continue;
    await new Promise((resolve) => peer.once('drain', resolve).once('close', resolve));
  }
}

test('a peer that sends on reads what was sent to it, and the connection ends when it has no more to say', async () => {
  const { socket, peer } = await connection();
  socket.write('answer');
  closeLingering(socket);
  await send(peer, 12);
  peer.end();
  expect(String((await once(peer, 'data'))[0])).toBe('answer');
  await once(socket, 'close');
});

test('a peer that sends without end is cut off', async () => {
  const { socket, peer } = await connection();
  closeLingering(socket);
  const closed = once(socket, 'close');
  await send(peer, 1_000);
  await closed;
  expect(socket.bytesRead).toBeGreaterThan(16 * MEBIBYTE.length);
  expect(socket.bytesRead).toBeLessThan(18 * MEBIBYTE.length);
});

test('a peer that neither sends nor ends is cut off in 5 seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { socket } = await connection();
  closeLingering(socket);
  await once(socket, 'finish');
  vi.advanceTimersByTime(4_999);
  expect(socket.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(socket.destroyed).toBe(true);
});
