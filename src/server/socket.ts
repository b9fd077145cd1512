import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Connection, PeerWatch } from './peer-watch.js';

/** A socket with more than this unsent is not read from until it has drained, so what it asks for can't pile up. */
const HIGH_WATER_BYTES = 1_048_576;

/** How often a peer is pinged. */
const PING_INTERVAL_MS = 15_000;

/**
 * A peer that has neither taken what was sent to it nor answered for that long, once the next ping is due, is gone. Slowness
 * alone closes nobody.
 */
const SILENCE_MS = 60_000;

/** One that is silent for that long has not answered the last ping: what it has taken counts. */
const DOUBT_MS = 20_000;

/** RFC 6455, 5.2: a frame of a server without anything in it. */
const PING_BYTES = 2;

/** One socket: flow control, and the watch over whether its peer is alive. */
export class Socket {
  #lastSign = performance.now();
  #stuck = 0;
  #isCorked = false;
  #waitingForRoom: (() => void)[] = [];

  /** @param connection what the socket's frames travel on. */
  constructor(
    readonly socket: WebSocket,
    readonly connection: Duplex & Connection,
    peers: PeerWatch,
  ) {
    const ping = setInterval(() => this.#ping(), PING_INTERVAL_MS);
    ping.unref();
    const sign = () => {
      this.#lastSign = performance.now();
    };
    socket.on('message', sign);
    socket.on('pong', sign);
    const stopWatching = peers.watch(connection, {
      pingBytes: PING_BYTES,
      isDoubted: () => performance.now() - this.#lastSign > DOUBT_MS,
      // A ping arrives at a peer that is not read from, too. What had to wait for it before that says more.
      seen: (took, _left, leftBefore) => took && leftBefore && sign(),
    });
    connection.on('drain', () => {
      sign();
      this.#makeRoom();
    });
    socket.once('close', () => {
      clearInterval(ping);
      stopWatching();
      this.#makeRoom();
    });
  }

  /**
   * Resolves when a stream may send more; null: it may at once. What waits for it takes no memory of the socket's. On a socket
   * that closes it resolves, too.
   */
  room(): Promise<void> | null {
    if (!this.connection.writableNeedDrain || this.socket.readyState !== this.socket.OPEN) return null;
    return new Promise((resolve) => this.#waitingForRoom.push(resolve));
  }

  /** Resolves when the peer has room for more, which is at once for a peer that keeps up. */
  send(data: string): Promise<void> | void {
    const { socket } = this;
    if (socket.readyState !== socket.OPEN) return;
    this.#cork();
    if (socket.bufferedAmount < HIGH_WATER_BYTES) {
      socket.send(data);
      return;
    }
    return new Promise((resolve) => {
      this.#stuck += 1;
      socket.pause();
      socket.send(data, () => {
        this.#lastSign = performance.now();
        this.#stuck -= 1;
        if (this.#stuck === 0) socket.resume();
        resolve();
      });
    });
  }

  #makeRoom(): void {
    const waiting = this.#waitingForRoom;
    this.#waitingForRoom = [];
    for (const goOn of waiting) goOn();
  }

  /** What is sent in one turn (a result and its complete, all the answers of a group) leaves with one system call. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.connection.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      this.connection.uncork();
    });
  }

  #ping(): void {
    const { socket } = this;
    if (performance.now() + PING_INTERVAL_MS - this.#lastSign > SILENCE_MS) socket.terminate();
    else if (socket.readyState === socket.OPEN) socket.ping();
  }
}
