import { once } from 'node:events';
import { WebSocket } from 'ws';

/** Many operations under way on one socket; as little client as can be, so that the server is measured. */
export class WebSocketLanes {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<string, (payload: string) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => this.#receive(data.toString('latin1')));
  }

  static async open(url: URL): Promise<WebSocketLanes> {
    const socket = new WebSocket(`ws://${url.host}${url.pathname}`, 'graphql-transport-ws', { perMessageDeflate: false });
    await once(socket, 'open');
    socket.send('{"type":"connection_init"}');
    await once(socket, 'message');
    return new WebSocketLanes(socket);
  }

  /** @param payload JSON text of query and variables. @returns the text of the message that carries the result. */
  run(payload: string): Promise<string> {
    const id = String(++this.#lastId);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket.send(`{"id":"${id}","type":"subscribe","payload":${payload}}`);
    });
  }

  close(): void {
    this.#socket.terminate();
  }

  #receive(message: string): void {
    const id = /"id":"(\d+)"/.exec(message)?.[1] ?? '';
    if (message.includes('"type":"complete"')) return;
    this.#waiting.get(id)?.(message);
    this.#waiting.delete(id);
  }
}
