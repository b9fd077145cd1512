import type { ServerResponse } from 'node:http';
import type { Caller } from '../graphql/context.js';
import type { StreamPosition } from '../graphql/stream-position.js';
import { onceClosed } from './once-closed.js';

/** Who waits for an HTTP response. It can't say that it is done with a stream: it only goes. */
export function httpCaller(response: ServerResponse, position: StreamPosition | null): Caller {
  return { position, turns: null, gone: () => goneWith(response), hasCompleted: () => false };
}

/** Aborts when the peer will not read the response any more, or has read it. */
function goneWith(response: ServerResponse): AbortSignal {
  if (response.closed || response.destroyed || response.req.socket.destroyed) return AbortSignal.abort();
  const controller = new AbortController();
  onceClosed(response, () => controller.abort());
  return controller.signal;
}
