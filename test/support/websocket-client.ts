import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { WebSocket, type ClientOptions } from 'ws';

/** A message of graphql-transport-ws, as it came. */
export interface Message {
  readonly type: string;
  readonly id?: string;
  readonly payload?: any;
}

export interface Close {
  readonly code: number;
  readonly reason: string;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * A graphql-transport-ws client that does only what it is told, and misses no message: each waits in a queue until
 * `next` or a `for await` takes it.
 */
export class WebSocketClient implements AsyncIterable<Message> {
  readonly closed: Promise<Close>;
  readonly #queue: Message[] = [];
  readonly #waiting: ((message: Message | null) => void)[] = [];
  #isClosed = false;

  private constructor(readonly socket: WebSocket) {
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        this.#isClosed = true;
        for (const give of this.#waiting.splice(0)) give(null);
        resolve({ code, reason: reason.toString() });
      });
    });
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Message;
      const give = this.#waiting.shift();
      if (give === undefined) this.#queue.push(message);
      else give(message);
    });
  }

  /** Connects, and sends nothing yet. The socket is cut when the test is over. */
  static async connect(url: string, options: ClientOptions & { protocol?: string } = {}): Promise<WebSocketClient> {
    const { protocol = 'graphql-transport-ws', ...rest } = options;
    const socket = new WebSocket(url.replace(/^http/, 'ws'), protocol, rest);
    const client = new WebSocketClient(socket);
    onTestFinished(() => {
      socket.terminate();
    });
    await once(socket, 'open');
    return client;
  }

  /** Connects, and is acknowledged. */
  static async open(url: string, options: ClientOptions = {}): Promise<WebSocketClient> {
    const client = await WebSocketClient.connect(url, options);
    client.send({ type: 'connection_init' });
    await client.expect('connection_ack');
    return client;
  }

  /** The status with which the upgrade was refused; 101 where it was not. */
  static async statusOfUpgrade(url: string, options: ClientOptions = {}): Promise<number> {
    const socket = new WebSocket(url.replace(/^http/, 'ws'), 'graphql-transport-ws', options);
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('unexpected-response', (_request, response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      socket.once('open', () => {
        socket.terminate();
        resolve(101);
      });
    });
  }

  send(message: Message | string): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  subscribe(id: string, query: string, variables: object = {}): void {
    this.send({ type: 'subscribe', id, payload: { query, variables } });
  }

  /** The next message. Rejects where none comes in time, or the socket closes before. */
  async next(timeoutMs = DEFAULT_TIMEOUT_MS): Promise<Message> {
    const message = await this.#take(timeoutMs);
    if (message === null) throw new Error(`The socket closed instead: ${JSON.stringify(await this.closed)}`);
    return message;
  }

  /** The next message, which must be of that type. */
  async expect(type: string, timeoutMs = DEFAULT_TIMEOUT_MS): Promise<Message> {
    const message = await this.next(timeoutMs);
    if (message.type !== type) throw new Error(`Expected ${type}, got ${JSON.stringify(message)}`);
    return message;
  }

  /** The result of a query or a mutation. No other operation may be under way on the socket. */
  async run(query: string, variables: object = {}): Promise<any> {
    this.subscribe('run', query, variables);
    const { payload } = await this.expect('next');
    await this.expect('complete');
    return payload;
  }

  /** Every message until the socket closes. */
  async *[Symbol.asyncIterator](): AsyncIterator<Message> {
    for (;;) {
      const message = await this.#take(null);
      if (message === null) return;
      yield message;
    }
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }

  /** null: the socket has closed. */
  async #take(timeoutMs: number | null): Promise<Message | null> {
    const message = this.#queue.shift();
    if (message !== undefined) return message;
    if (this.#isClosed) return null;
    return new Promise((resolve, reject) => {
      const timer =
        timeoutMs === null ? undefined : setTimeout(() => reject(new Error(`No message came in ${timeoutMs} ms`)), timeoutMs);
      this.#waiting.push((given) => {
        clearTimeout(timer);
        resolve(given);
      });
    });
  }
}
