import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { behindAnswers, endConnectionWith } from './answer-order.js';

/**
 * Asks for the body of a request whose sender waits to be asked (`Expect: 100-continue`), unless the request is refused for what its
 * headers say: then no body need be sent. It asks behind the answers to the requests before it: Node would by itself write that
 * behind the headers of its own answer where this waits for its turn.
 *
 * The connection ends with the answer: Node ends it where nobody was asked, and what comes behind must know that before it is done.
 */
export function askForBodies(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    endConnectionWith(response);
    behindAnswers(request.socket, () => {
      // By then those that are refused at once are. Of a body that has come nobody need be asked.
      setImmediate(() => {
        if (!request.complete && !response.headersSent && !response.destroyed) response.writeContinue();
      });
    });
    server.emit('request', request, response);
  });
}
