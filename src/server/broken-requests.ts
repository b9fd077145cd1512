import type { Server } from 'node:http';
import { badUserInput } from '../graphql/errors.js';
import { JSON_TYPE } from './accept.js';
import { behindAnswers, endConnectionWith, pendingAnswer } from './answer-order.js';
import { limitExceeded } from './errors.js';
import { send } from './json-response.js';
import { closeLingering, discardInput } from './lingering-close.js';
import { refuseRaw, type RawRefusal } from './raw-refusal.js';

/** The peer has no more to say, but what it said is not whole. */
const CUT_OFF = 'HPE_INVALID_EOF_STATE';

const REFUSALS: ReadonlyMap<string | undefined, RawRefusal> = new Map([
  ['HPE_HEADER_OVERFLOW', { status: 431, error: limitExceeded('The headers of the request are too large') }],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', { status: 413, error: limitExceeded('The extensions of a chunk are too large') }],
  ['ERR_HTTP_REQUEST_TIMEOUT', { status: 408, error: badUserInput(null, 'The request did not come whole in time') }],
]);
const BROKEN: RawRefusal = { status: 400, error: badUserInput(null, 'The request is not one of HTTP/1.1') };
const NO_TUNNELS: RawRefusal = {
  status: 405,
  error: badUserInput(null, 'The service is no proxy: it opens no tunnels'),
  headers: { allow: 'GET, POST' },
};

/** Answers what can't be read as a request, or asks for a tunnel, behind the answers to what came before it, and ends the connection. */
export function answerBrokenRequests(server: Server): void {
  server.on('connect', (_request, socket) => behindAnswers(socket, () => refuseRaw(socket, NO_TUNNELS)));

  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    // It was answered for good, or its peer is gone.
    if (!socket.writable) return;
    const refusal = REFUSALS.get(code) ?? BROKEN;
    const pending = pendingAnswer(socket);
    discardInput(socket);
    if (pending !== null && code === CUT_OFF) {
      // As it does where a peer goes between two requests: nobody waits for the answers any more.
      socket.end();
    } else if (pending === null || pending.req.complete) {
      behindAnswers(socket, () => refuseRaw(socket, refusal));
    } else if (pending.headersSent) {
      behindAnswers(socket, () => closeLingering(socket));
    } else {
      // It is broken behind its headers, so it has an answer of its own, which waits for its turn by itself.
      endConnectionWith(pending);
      send(pending, refusal.status, JSON_TYPE, { errors: [refusal.error] });
    }
  });
}
