import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** What a peer may still send, and for how long, when all that there is for it was sent. */
const LINGER_BYTES = 16 * 1_048_576;
const LINGER_MS = 5_000;

/**
 * Ends a connection as soon as what was written to it is sent, in a way in which the peer can read it: a system that lets go of
 * a connection on which bytes have come that nobody read, or on which more come, resets it, and the peer's system throws away
 * what had arrived for it. A peer that sends all of a request before it reads would never see why it was refused.
 *
 * So what still comes is read and thrown away until the peer ends its side, too: {@link LINGER_BYTES} and {@link LINGER_MS} at the
 * most. Beyond that the connection is cut.
 */
export function closeLingering(socket: Duplex): void {
  discardInput(socket);
  if (socket.writable) socket.end();
  const linger = () => {
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  };
  if (socket.writableFinished) linger();
  else socket.once('finish', linger);
}

/** From now on every connection that the server ends behind its last answer ends so. */
export function lingerOnClose(server: Server): void {
  server.on('connection', (socket: Socket) => {
    socket.destroySoon = () => closeLingering(socket);
  });
}

/** Nobody reads any more what comes on the connection; where it is too much, the connection is cut. */
export function discardInput(socket: Duplex): void {
  let bytes = 0;
  // A parser of HTTP is done with it: else what comes would be done, though it can't be answered.
  socket.removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) socket.destroy();
  });
  // That parser read past the stream, which believes that it still waits for what it was asked to read: it must ask again.
  socket.push('');
  socket.resume();
}
