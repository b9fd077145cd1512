import type { ServerResponse } from 'node:http';
import type { ExecutionResult } from 'graphql';
import type { StreamPosition } from '../graphql/stream-position.js';
import { EVENT_STREAM } from './accept.js';

/** A peer that takes nothing of what is sent to it for that long is gone. Slowness alone cuts nobody off. */
const STALLED_MS = 60_000;
const CHECK_INTERVAL_MS = 15_000;

/**
 * Writes the results as server-sent events, in the distinct connections mode of graphql-sse, until they end or the peer is
 * gone. No result is asked for while the peer has not taken those before it: a slow one costs no more than one of them.
 *
 * @param position of each result, which becomes the event's id. A result without one leaves the peer with the last id it has.
 */
export async function sendEvents(
  response: ServerResponse,
  results: AsyncIterable<ExecutionResult>,
  position: StreamPosition,
): Promise<void> {
  response.setHeader('content-type', EVENT_STREAM);
  // Nor may a proxy keep events back to send many at once.
  response.setHeader('cache-control', 'no-cache, no-transform');
  response.setHeader('x-accel-buffering', 'no');
  response.writeHead(200);
  // A comment, with which the headers leave at once.
  await send(response, ':\n\n');
  for await (const result of results) {
    const id = position.revision === null ? '' : `id: ${position.revision}\n`;
    await send(response, `event: next\n${id}data: ${JSON.stringify(result)}\n\n`);
    if (response.destroyed) return;
  }
  if (!response.destroyed) response.end('event: complete\ndata:\n\n');
}

/** Resolves when the peer has room for more, which is at once for a peer that keeps up, or when it is gone. */
async function send(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed || response.write(text)) return;
  await new Promise<void>((resolve) => {
    let unsent = response.writableLength;
    let lastSign = performance.now();
    const check = setInterval(() => {
      if (response.writableLength < unsent) lastSign = performance.now();
      unsent = response.writableLength;
      if (performance.now() - lastSign >= STALLED_MS) response.destroy();
    }, CHECK_INTERVAL_MS);
    const settle = () => {
      clearInterval(check);
      response.off('drain', settle);
      response.off('close', settle);
      resolve();
    };
    response.once('drain', settle);
    response.once('close', settle);
  });
}
