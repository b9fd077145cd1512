import { ApiError, type Reply } from '../faults/lock-api.js';
import { WebSocketClient } from '../support/websocket-client.js';

/** The connection broke, or the answer took too long. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/**
 * Sends an operation over HTTP.
 *
 * @throws NoAnswer where no whole answer came in time: whether it was carried out is unknown.
 */
export async function send(url: string, query: string, variables: object, timeoutMs: number): Promise<Reply> {
  let text: string;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    text = await response.text();
  } catch (error) {
    throw new NoAnswer('No whole answer came', { cause: error });
  }
  return JSON.parse(text) as Reply;
}

/**
 * Sends an operation over a WebSocket of its own, and completes it where no answer came in time.
 *
 * @throws NoAnswer as {@link send}
 */
export async function sendOverSocket(url: string, query: string, variables: object, timeoutMs: number): Promise<Reply> {
  try {
    const client = await WebSocketClient.open(url, { handshakeTimeout: timeoutMs });
    try {
      client.subscribe('call', query, variables);
      for (;;) {
        const { type, payload } = await client.next(timeoutMs);
        if (type === 'next') return payload as Reply;
        if (type === 'error') return { errors: payload as NonNullable<Reply['errors']> };
        if (type === 'complete') throw new Error('It was completed without an answer');
      }
    } finally {
      client.send({ type: 'complete', id: 'call' });
      client.socket.close();
    }
  } catch (error) {
    throw new NoAnswer('No whole answer came', { cause: error });
  }
}

/** Whether it is worth sending again: there was no answer, or one that says no more than that. */
export function isNoAnswer(error: unknown): boolean {
  return error instanceof NoAnswer || (error instanceof ApiError && error.extensions['code'] === 'UNAVAILABLE');
}
