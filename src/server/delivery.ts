import type { ExecutionResult } from 'graphql';
import { textOf } from './result-text.js';
import type { ResultStream } from './results.js';
import type { Socket } from './socket.js';

/** Where the results of streams go. */
export interface Recipient {
  readonly socket: Socket;
  /** Every stream that has not ended, also one whose id was taken again before it was set up. */
  readonly streams: Set<ResultStream>;
}

/**
 * Sends the results of a stream, as messages of one id, as fast as the peer takes them. graphql-ws is given it in place of
 * the stream: it yields nothing, and is done when the stream is, or throws what the stream throws. The recipient's set holds
 * it until then.
 */
export class Delivery implements ResultStream {
  readonly #stream: ResultStream;
  readonly #recipient: Recipient;
  readonly #head: string;
  #isReturned = false;

  constructor(stream: ResultStream, id: string, recipient: Recipient) {
    this.#stream = stream;
    this.#recipient = recipient;
    this.#head = `{"id":${JSON.stringify(id)},"type":"next","payload":`;
    recipient.streams.add(this);
  }

  async next(): Promise<IteratorResult<never, void>> {
    const { socket, streams } = this.#recipient;
    try {
      for (let isOver = false; !isOver;) {
        const room = socket.room();
        if (room !== null) await room;
        // Not awaited as it is: this frame would hold on to the last result for as long as it waits for the next.
        isOver = await this.#stream.next().then(this.#send);
      }
      return { done: true, value: undefined };
    } finally {
      streams.delete(this);
    }
  }

  /** Nothing is sent after it, also where a result was under way. */
  return(): Promise<IteratorResult<ExecutionResult, void>> {
    this.#isReturned = true;
    this.#recipient.streams.delete(this);
    return this.#stream.return();
  }

  throw(error: unknown): Promise<IteratorResult<ExecutionResult, void>> {
    this.#recipient.streams.delete(this);
    return this.#stream.throw(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** Whether that was the end. */
  readonly #send = ({ done, value }: IteratorResult<ExecutionResult, void>): boolean => {
    if (done === true || this.#isReturned) return true;
    void this.#recipient.socket.send(`${this.#head}${textOf(value)}}`);
    return false;
  };
}

export function isStream(result: object): result is ResultStream {
  return Symbol.asyncIterator in result;
}
