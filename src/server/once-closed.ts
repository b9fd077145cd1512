import type { ServerResponse } from 'node:http';

/**
 * Calls the listener once, when the response was sent or nobody will read it any more.
 *
 * @param response not closed yet
 */
export function onceClosed(response: ServerResponse, listener: () => void): void {
  if (response.socket !== null) {
    response.once('close', listener);
    return;
  }
  // Behind another one on its connection it is not told that this has closed.
  const { socket } = response.req;
  let isClosed = false;
  const end = () => {
    // Both may close in the same turn.
    if (isClosed) return;
    isClosed = true;
    response.off('close', end);
    socket.off('close', end);
    listener();
  };
  response.once('close', end);
  // It is waited for by each of the requests that were sent on it one behind the other.
  socket.setMaxListeners(0);
  socket.once('close', end);
}
