import type { ServerResponse } from 'node:http';
import type { ExecutionResult } from 'graphql';
import type { StreamPosition } from '../graphql/stream-position.js';
import { EVENT_STREAM } from './accept.js';
import type { PeerWatch } from './peer-watch.js';
import { textOf } from './result-text.js';

/**
 * A peer that was seen so many times, 15 s from one to the next, to take nothing of what there is for it, is gone. Slowness
 * alone cuts nobody off.
 */
const STALLED_LOOKS = 3;

/** From a result with errors to the end of its stream: where every result fails, nobody comes back more often than that. */
const BREAK_OFF_MS = 1_000;

/**
 * Writes the results as server-sent events, in the distinct connections mode of graphql-sse, until they end or the peer is
 * gone. No result is asked for while the peer has not taken those before it: a slow one costs no more than one of them, and
 * one that waits for the next costs none.
 *
 * A result with errors may lack what its position says it brings the peer to. So it has no id, and the stream breaks off after
 * it, without a `complete`: a peer that resumes asks for the same again.
 *
 * A peer that takes nothing of what there is for it is cut off within 60 s, and so is one that has vanished. To see that, a
 * comment is sent where nothing else was.
 *
 * @param position of each result, which becomes the event's id. A result without one leaves the peer with the last id it has.
 */
export async function sendEvents(
  response: ServerResponse,
  results: AsyncIterator<ExecutionResult, void>,
  position: StreamPosition,
  peers: PeerWatch,
): Promise<void> {
  response.setHeader('content-type', EVENT_STREAM);
  // Nor may a proxy keep events back to send many at once.
  response.setHeader('cache-control', 'no-cache, no-transform');
  response.setHeader('x-accel-buffering', 'no');
  response.writeHead(200);
  // A comment, with which the headers leave at once.
  if (!response.destroyed) response.write(':\n\n');
  const stopWatching = watchPeer(response, peers);
  const send = (next: IteratorResult<ExecutionResult, void>) => sendNext(response, next, position);
  try {
    for (let isOver = false; !isOver && !response.destroyed;) {
      if (response.writableNeedDrain) await room(response);
      // Not awaited as it is: this frame would hold on to the last result for as long as it waits for the next.
      else isOver = await results.next().then(send);
    }
  } finally {
    stopWatching();
    await results.return?.();
  }
}

/** Whether that was the last. */
function sendNext(
  response: ServerResponse,
  { done, value }: IteratorResult<ExecutionResult, void>,
  { revision }: StreamPosition,
): boolean | Promise<true> {
  if (response.destroyed) return true;
  if (done === true) {
    response.end('event: complete\ndata:\n\n');
    return true;
  }
  if (value.errors !== undefined) {
    response.write(`event: next\ndata: ${textOf(value)}\n\n`);
    return breakOff(response);
  }
  const id = revision === null ? '' : `id: ${revision}\n`;
  response.write(`event: next\n${id}data: ${textOf(value)}\n\n`);
  return false;
}

async function breakOff(response: ServerResponse): Promise<true> {
  await new Promise((resolve) => setTimeout(resolve, BREAK_OFF_MS).unref());
  if (!response.destroyed) response.end();
  return true;
}

/** Resolves when the peer has room for more, or when it is gone. */
async function room(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const settle = () => {
      response.off('drain', settle);
      response.off('close', settle);
      resolve();
    };
    response.once('drain', settle);
    response.once('close', settle);
  });
}

/** Cuts off a peer that takes nothing, and sends something now and then to one that there is nothing for. */
function watchPeer(response: ServerResponse, peers: PeerWatch): () => void {
  const { socket } = response;
  if (socket === null) return () => undefined;
  let stalled = 0;
  let written = socket.bytesWritten;
  return peers.watch(socket, {
    pingBytes: 0,
    isDoubted: () => true,
    seen(took, left) {
      stalled = took || !left ? 0 : stalled + 1;
      // What the system still keeps for it, it shall forget.
      if (stalled === STALLED_LOOKS) socket.resetAndDestroy();
      else if (!left && socket.bytesWritten === written) response.write(':\n\n');
      written = socket.bytesWritten;
    },
  });
}
