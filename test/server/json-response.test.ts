import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/observability/logger.js';
import { Metrics } from '../../src/observability/metrics.js';
import { createMaskError, notBegun } from '../../src/server/errors.js';
import { sendFailure } from '../../src/server/json-response.js';
import { StoreUnavailable } from '../../src/store/lock-store.js';
import { readAnswer } from '../support/http-client.js';

const maskError = createMaskError(createLogger('silent'), new Metrics(() => Promise.resolve(0)));

/** What is answered to a request whose answer failed so. */
async function answerTo(error: Error) {
  const server = createServer((_, response) => sendFailure(response, maskError(error))).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const answer = await readAnswer(await fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } }));
  return {
    status: answer.status,
    retryAfter: answer.headers.get('retry-after'),
    code: answer.errors?.[0]?.extensions['code'],
  };
}

test.each([
  ['was not begun', notBegun('The request was cut off')],
  ['failed as the database did not answer', new StoreUnavailable('the connection broke', false)],
])('a request that %s is UNAVAILABLE with 503, and told when to try again', async (_, error) => {
  expect(await answerTo(error)).toEqual({ status: 503, retryAfter: '1', code: 'UNAVAILABLE' });
});

test('a request that failed as nobody foresaw is a fault with 500', async () => {
  expect(await answerTo(new TypeError('x is undefined'))).toEqual({
    status: 500,
    retryAfter: null,
    code: 'INTERNAL_SERVER_ERROR',
  });
});
