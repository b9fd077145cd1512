import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { badUserInput } from '../graphql/errors.js';
import type { MediaType } from './accept.js';
import { endConnectionWith } from './answer-order.js';
import { limitExceeded, notBegun } from './errors.js';
import { send } from './json-response.js';

/** A request whose body was read. It is where Yoga looks for one. */
export interface ReadRequest extends IncomingMessage {
  body?: Buffer;
}

/**
 * Reads the body of a POST into `request.body`.
 *
 * @returns false where it can't be taken: then the request is answered.
 */
export async function takeBody(
  request: ReadRequest,
  response: ServerResponse,
  mediaType: MediaType,
  maxBytes: number,
): Promise<boolean> {
  // At once: what comes behind it must find that the connection ends with this answer.
  const isTooLarge = Number(request.headers['content-length'] ?? 0) > maxBytes;
  const body = isTooLarge ? null : await readBody(request, maxBytes);
  if (body === null) {
    // The rest of the body is not read, so the connection is of no more use.
    endConnectionWith(response);
    send(response, 413, mediaType, { errors: [limitExceeded(`A request may have at most ${maxBytes} bytes`)] });
    return false;
  }
  // Decoded, all that is no UTF-8 would be the same U+FFFD: names that differ would name one lock.
  if (!isUtf8(body)) {
    send(response, 400, mediaType, { errors: [badUserInput(null, 'The body is not UTF-8')] });
    return false;
  }
  request.body = body;
  return true;
}

/** null: more than is allowed. */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        request.pause();
        resolve(null);
        return;
      }
      chunks.push(chunk);
    });
    request.once('end', () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)));
    // The one error of a request is that its connection has ended: whoever sent it did that, not the server.
    const refuse = () => reject(notBegun('The request was cut off'));
    request.once('error', refuse);
    request.once('close', () => {
      if (!request.complete) refuse();
    });
  });
}
