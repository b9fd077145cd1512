import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** One kept-alive connection that carries one request after the other; as little client as can be, so that the server is measured. */
export class HttpLane {
  readonly #socket: Socket;
  readonly #head: string;
  #received = '';
  #resolve: ((body: string) => void) | null = null;

  private constructor(socket: Socket, { host, pathname }: URL) {
    this.#socket = socket;
    this.#head = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\naccept: application/json\r\ncontent-length: `;
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => this.#receive(chunk));
  }

  static async open(url: URL): Promise<HttpLane> {
    const socket = connect(Number(url.port), url.hostname);
    socket.setNoDelay(true);
    await once(socket, 'connect');
    return new HttpLane(socket, url);
  }

  post(body: string): Promise<string> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#socket.write(`${this.#head}${Buffer.byteLength(body)}\r\n\r\n${body}`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: string): void {
    this.#received += chunk;
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#received.slice(0, end).toLowerCase();
    const body = this.#received.slice(end + 4);
    const length = /content-length: (\d+)/.exec(head)?.[1];
    const isWhole = length === undefined ? body.endsWith('0\r\n\r\n') : Buffer.byteLength(body) >= Number(length);
    if (!isWhole) return;
    if (!/^http\/1.1 (200|503)/.test(head)) throw new Error(`${head}\n${body}`);
    this.#received = '';
    this.#resolve?.(body);
  }
}
