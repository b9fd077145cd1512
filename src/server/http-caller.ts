import type { ServerResponse } from 'node:http';
import type { Caller } from '../graphql/context.js';
import type { StreamPosition } from '../graphql/stream-position.js';

/** Who waits for an HTTP response. It can't say that it is done with a stream: it only goes. */
export function httpCaller(response: ServerResponse, position: StreamPosition | null): Caller {
  return { position, turns: null, gone: () => goneWith(response), hasCompleted: () => false };
}

/** Aborts when the peer will not read the response any more, or has read it. */
function goneWith(response: ServerResponse): AbortSignal {
  const { socket } = response.req;
  if (response.closed || response.destroyed || socket.destroyed) return AbortSignal.abort();
  const controller = new AbortController();
  const end = () => {
    response.off('close', end);
    socket.off('close', end);
    controller.abort();
  };
  response.once('close', end);
  // It is waited for by each of the requests that were sent on it one behind the other.
  socket.setMaxListeners(0);
  // A response that is behind another one on its connection is not told that this has closed.
  socket.once('close', end);
  return controller.signal;
}
