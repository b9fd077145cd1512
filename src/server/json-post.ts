import type { ServerResponse } from 'node:http';
import { OperationTypeNode } from 'graphql';
import { badUserInput } from '../graphql/errors.js';
import { EVENT_STREAM, type MediaType } from './accept.js';
import { httpCaller } from './http-caller.js';
import { send, sendRefusal } from './json-response.js';
import { isRefused, type Operations } from './operations.js';
import { readBodyParams } from './request-params.js';

/**
 * The short way of a POST with JSON, which is nearly all of the traffic: no request and response objects of the Fetch
 * API in between. It follows GraphQL over HTTP as Yoga does, with the same limits and rules.
 *
 * @returns false where Yoga must answer: a subscription, or a caller that would rather have a stream of events.
 */
export async function answerJsonPost(
  body: Buffer,
  mediaType: MediaType,
  response: ServerResponse,
  operations: Operations,
): Promise<boolean> {
  if (mediaType === EVENT_STREAM) return false;
  const params = readBodyParams(body);
  if (typeof params === 'string') {
    send(response, 400, mediaType, { errors: [badUserInput(null, params)] });
    return true;
  }
  const operation = await operations.prepare({ ...params, caller: httpCaller(response, null) }, 'http');
  if (isRefused(operation)) {
    sendRefusal(response, mediaType, operation);
    return true;
  }
  if (operation.type === OperationTypeNode.SUBSCRIPTION) return false;
  const result = await operations.execute(operation);
  // Without data nothing was executed: the variables could not be read.
  if ('data' in result) send(response, 200, mediaType, result);
  else sendRefusal(response, mediaType, result.errors ?? []);
  return true;
}
