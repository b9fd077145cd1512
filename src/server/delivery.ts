import type { ExecutionResult } from 'graphql';
import type { ResultStream } from './operations.js';
import type { Socket } from './socket.js';

/** Where the results of streams go. */
export interface Recipient {
  readonly socket: Socket;
  /** Every stream that has not ended, also one whose id was taken again before it was set up. */
  readonly streams: Set<ResultStream>;
}

/** The text of a result that several streams share is made once. */
const texts = new WeakMap<ExecutionResult, string>();

/**
 * Sends the results of a stream, as messages of that id, as fast as the peer takes them.
 *
 * @returns what graphql-ws is given in place of the stream: it yields nothing, and is done when the stream is, or throws what
 * the stream throws. The recipient's set holds it until then.
 */
export function deliver(stream: ResultStream, id: string, { socket, streams }: Recipient): ResultStream {
  const head = `{"id":${JSON.stringify(id)},"type":"next","payload":`;
  const sendAll = async (): Promise<IteratorResult<never, void>> => {
    for (;;) {
      const room = socket.room();
      if (room !== null) await room;
      const item = await stream.next();
      if (item.done === true) return item;
      void socket.send(`${head}${textOf(item.value)}}`);
    }
  };
  const delivery: ResultStream = {
    next: () => sendAll().finally(() => streams.delete(delivery)),
    return() {
      streams.delete(delivery);
      return stream.return();
    },
    throw(error) {
      streams.delete(delivery);
      return stream.throw(error);
    },
    [Symbol.asyncIterator]: () => delivery,
    [Symbol.asyncDispose]: async () => {
      await delivery.return();
    },
  };
  streams.add(delivery);
  return delivery;
}

export function isStream(result: object): result is ResultStream {
  return Symbol.asyncIterator in result;
}

function textOf(result: ExecutionResult): string {
  let text = texts.get(result);
  if (text === undefined) texts.set(result, (text = JSON.stringify(result)));
  return text;
}
