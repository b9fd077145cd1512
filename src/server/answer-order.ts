import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Of each connection: its answers leave in the order of their requests. */
const lastAnswers = new WeakMap<Duplex, ServerResponse>();

/** From now on the answers on the server's connections are known: to an earlier listener for requests without that to the present one. */
export function watchAnswers(server: Server): void {
  server.on('request', ({ socket }, response) => {
    if (!isOver(socket)) lastAnswers.set(socket, response);
  });
}

/** The last of the answers that are still to be sent on the connection; null: there are none. */
export function pendingAnswer(socket: Duplex): ServerResponse | null {
  const last = lastAnswers.get(socket);
  return last === undefined || last.closed ? null : last;
}

/** The connection ends with this answer, which is still to be sent: nothing that is asked behind it is done. */
export function endConnectionWith(answer: ServerResponse): void {
  answer.setHeader('connection', 'close');
}

/**
 * Whether the connection has ended for the server, or ends with an answer that is still to be sent: a request that comes now
 * can't be answered, so nothing that it asks for may be done (RFC 9112, 9.6).
 */
export function isOver(socket: Duplex): boolean {
  if (!socket.writable) return true;
  const pending = pendingAnswer(socket);
  return pending?.getHeader('connection') === 'close';
}

/**
 * Does what comes behind the requests of a connection when these are answered: they are done, or are being done, so what takes the
 * place of their answers would be untrue, and what is written in the midst of one would end it. Does nothing where the connection
 * is gone by then, or has ended.
 */
export function behindAnswers(socket: Duplex, act: () => void): void {
  // Nobody else may listen any more, and an error that nobody listens to would end the process. It may come after the end.
  const cut = () => socket.destroy();
  socket.on('error', cut);
  const goOn = () => {
    if (!socket.writable) return;
    socket.off('error', cut);
    act();
  };
  const pending = pendingAnswer(socket);
  if (pending === null) goOn();
  else pending.once('close', goOn);
}
