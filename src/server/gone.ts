import type { ServerResponse } from 'node:http';

/** Aborts when the peer will not read the response any more, or has read it. */
export function goneWith(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed || response.destroyed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}
