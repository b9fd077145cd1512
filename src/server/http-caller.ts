import type { ServerResponse } from 'node:http';
import type { Caller } from '../graphql/context.js';
import type { StreamPosition } from '../graphql/stream-position.js';

/** Who waits for an HTTP response. It can't say that it is done with a stream: it only goes. */
export function httpCaller(response: ServerResponse, position: StreamPosition | null): Caller {
  return { position, turns: null, gone: () => goneWith(response), hasCompleted: () => false };
}

/** Aborts when the peer will not read the response any more, or has read it. */
function goneWith(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed || response.destroyed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}
