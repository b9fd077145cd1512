import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { PeerWatch, type Connection } from '../../src/server/peer-watch.js';
import { Socket } from '../../src/server/socket.js';
import { connectionKey } from '../../src/server/tcp-table.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** The parts of a WebSocket that count here; the peer does what the test says. */
function fakePeer() {
  const peer = Object.assign(new EventEmitter(), {
    OPEN: 1,
    readyState: 1,
    bufferedAmount: 0,
    ping: vi.fn(),
    terminate: vi.fn(),
    pause: vi.fn(),
    resume: vi.fn(),
    send: vi.fn<(data: string, sent?: () => void) => void>(),
  });
  const connection = Object.assign(new EventEmitter(), {
    writableNeedDrain: false,
    writableLength: 0,
    bytesWritten: 0,
    cork: vi.fn(),
    uncork: vi.fn(),
  });
  const tcp = connection as unknown as Duplex & Connection;
  const system = { unacknowledged: 0 };
  const peers = new PeerWatch(() => Promise.resolve(new Map([[connectionKey(tcp), system.unacknowledged]])));
  return { peer, connection, system, socket: new Socket(peer as unknown as WebSocket, tcp, peers) };
}

describe('a peer', () => {
  test('that answers nothing is cut off after 45 to 60 s', () => {
    const { peer } = fakePeer();
    peer.emit('pong');
    vi.advanceTimersByTime(45_000);
    expect(peer.terminate).not.toHaveBeenCalled();
    vi.advanceTimersByTime(15_000);
    expect(peer.terminate).toHaveBeenCalledOnce();
  });

  test('that answers pings is kept', () => {
    const { peer } = fakePeer();
    peer.ping.mockImplementation(() => peer.emit('pong'));
    vi.advanceTimersByTime(600_000);
    expect(peer.terminate).not.toHaveBeenCalled();
  });

  /** Ten minutes, at each ping of which something happens. */
  async function passTime(onPing: (n: number) => void): Promise<void> {
    for (let n = 0; n < 40; n++) {
      onPing(n);
      await vi.advanceTimersByTimeAsync(15_000);
    }
  }

  test('that is slow, but takes a little of one large message now and then, is kept, though it answers no ping', async () => {
    const { peer, connection, system } = fakePeer();
    Object.assign(connection, { bytesWritten: 5_000_000, writableLength: 4_000_000 });
    system.unacknowledged = 1_000_000;
    await passTime((n) => {
      if (n % 2 === 0) system.unacknowledged -= 10;
    });
    expect(peer.terminate).not.toHaveBeenCalled();
  });

  test('that takes nothing of what is sent, and answers nothing, is cut off', async () => {
    const { peer, connection, system } = fakePeer();
    Object.assign(connection, { bytesWritten: 5_000_000, writableLength: 4_000_000 });
    system.unacknowledged = 1_000_000;
    await passTime(() => undefined);
    expect(peer.terminate).toHaveBeenCalled();
  });

  test('whose system takes each ping, but that answers none, is cut off', async () => {
    const { peer, connection } = fakePeer();
    await passTime(() => {
      connection.bytesWritten += 2;
    });
    expect(peer.terminate).toHaveBeenCalled();
  });

  test('with too much unsent is not read from until it has taken it', async () => {
    const { peer, socket } = fakePeer();
    peer.bufferedAmount = 2_000_000;
    let isSent: (() => void) | undefined;
    peer.send.mockImplementation((_data, sent) => {
      isSent = sent;
    });
    const room = socket.send('answer');
    expect(room).toBeInstanceOf(Promise);
    expect([peer.pause.mock.calls.length, peer.resume.mock.calls.length]).toEqual([1, 0]);
    isSent?.();
    await room;
    expect(peer.resume).toHaveBeenCalledOnce();
  });

  test('that keeps up is sent to at once', () => {
    const { peer, socket } = fakePeer();
    expect(socket.send('answer')).toBeUndefined();
    expect(peer.send).toHaveBeenCalledWith('answer');
  });
});

describe('a stream', () => {
  test('may send at once to a peer that keeps up', () => {
    expect(fakePeer().socket.room()).toBeNull();
  });

  test.each([
    ['has taken what was sent', 'drain'],
    ['is gone', 'close'],
  ])('waits where much is unsent, until the peer %s', async (_, ending) => {
    const { peer, connection, socket } = fakePeer();
    connection.writableNeedDrain = true;
    const room = socket.room();
    expect(room).toBeInstanceOf(Promise);
    (ending === 'drain' ? connection : peer).emit(ending);
    await room;
  });

  test('does not wait for a peer that is going', () => {
    const { peer, connection, socket } = fakePeer();
    connection.writableNeedDrain = true;
    peer.readyState = 2;
    expect(socket.room()).toBeNull();
  });
});
