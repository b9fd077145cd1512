import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** What a worker sends: a read where there is no value. Tokens are strings, as the service sends them. */
export interface RegisterRequest {
  readonly token: string;
  readonly value?: number;
}

/** What it is told; null: its token is older than another one that was here. */
export interface RegisterReply {
  readonly value: number | null;
}

/** A number outside the database that the holder of a lock may read and write, and nobody with an older token. */
export class FencedRegister {
  value = 0;
  /** Writes that were done. */
  writes = 0;
  /** Reads and writes that came too late. */
  refusals = 0;
  #highestToken = 0n;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void text(request).then((body) => response.end(JSON.stringify(this.#answer(JSON.parse(body) as RegisterRequest))));
    });
  }

  /** It is gone when the test is over. */
  static async start(): Promise<FencedRegister> {
    const register = new FencedRegister();
    register.#server.listen(0, '127.0.0.1');
    await once(register.#server, 'listening');
    onTestFinished(() => {
      register.#server.close();
      register.#server.closeAllConnections();
    });
    return register;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** A read counts as well: what was read under an older token must not come after it. */
  #answer({ token, value }: RegisterRequest): RegisterReply {
    if (BigInt(token) < this.#highestToken) {
      this.refusals++;
      return { value: null };
    }
    this.#highestToken = BigInt(token);
    if (value !== undefined) {
      this.value = value;
      this.writes++;
    }
    return { value: this.value };
  }
}
