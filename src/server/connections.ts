import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { GraphQLError } from 'graphql';
import type { Metrics } from '../observability/metrics.js';
import { notBegun } from './errors.js';
import { PATHS } from './paths.js';

/** So many connections beyond those that may be open are read from, each for so long, so that they can be told. */
export const SPARE = 100;
const SPARE_MS = 5_000;

const ALWAYS_ANSWERED: ReadonlySet<string> = new Set([PATHS.live, PATHS.metrics]);

/**
 * Bounds the connections that are open at once, whatever they are used for: requests, streams, WebSockets, or nothing yet.
 *
 * What is asked on one that is too many is refused as UNAVAILABLE, with the status 503, and the connection ends. Only
 * `/health/live` and `/metrics` are answered there as well: a server that is full is well, and a restart would cut off everybody
 * it serves, who would all come back at once. `/health/ready` is refused, so that new callers are led to others. There are no more
 * than {@link SPARE} of these at a time; whatever comes beyond them is closed unread, which costs no more than to accept it.
 */
export class Connections {
  readonly #limit: number;
  readonly #metrics: Metrics;
  readonly #open = new Set<Duplex>();
  readonly #spare = new Set<Duplex>();

  constructor(limit: number, metrics: Metrics) {
    this.#limit = limit;
    this.#metrics = metrics;
  }

  /** From now on the connections of the server are counted. */
  count(server: Server): void {
    server.on('connection', (socket: Socket) => {
      // One whose upgrade was ignored comes once more.
      if (!this.#open.has(socket) && !this.#spare.has(socket)) this.#begin(socket);
    });
  }

  /** Whether it is one too many: it ends with its first answer. */
  isSpare(connection: Duplex): boolean {
    return this.#spare.has(connection);
  }

  /** Why what was asked on the connection is not done; null: it is. */
  refusalOf(connection: Duplex, path: string): GraphQLError | null {
    if (!this.#spare.has(connection) || ALWAYS_ANSWERED.has(path)) return null;
    return notBegun(`The server may have at most ${this.#limit} connections open, and has as many: try another instance`);
  }

  #begin(socket: Socket): void {
    if (this.#open.size < this.#limit) this.#add(socket);
    else this.#refuse(socket);
  }

  #add(socket: Socket): void {
    this.#open.add(socket);
    this.#metrics.connections(this.#open.size);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#metrics.connections(this.#open.size);
    });
  }

  #refuse(socket: Socket): void {
    this.#metrics.connectionRefused();
    if (this.#spare.size >= SPARE) {
      socket.destroy();
      return;
    }
    this.#spare.add(socket);
    const timer = setTimeout(() => socket.destroy(), SPARE_MS).unref();
    socket.once('close', () => {
      clearTimeout(timer);
      this.#spare.delete(socket);
    });
  }
}
