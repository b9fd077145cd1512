import type { ServerResponse } from 'node:http';
import type { ExecutionResult, GraphQLError } from 'graphql';
import { EVENT_STREAM, JSON_TYPE, type MediaType } from './accept.js';
import { endConnectionWith } from './answer-order.js';
import { statusOfRefusal } from './errors.js';

/** Answers with a result as JSON, also who would rather have a stream of events. */
export function send(response: ServerResponse, status: number, mediaType: MediaType, result: ExecutionResult): void {
  const body = JSON.stringify(result);
  const type = mediaType === EVENT_STREAM ? JSON_TYPE : mediaType;
  response.writeHead(status, ['content-type', `${type}; charset=utf-8`, 'content-length', Buffer.byteLength(body)]);
  response.end(body);
}

/** What GraphQL over HTTP says of an operation that never got to its execution. */
export function sendRefusal(response: ServerResponse, mediaType: MediaType, errors: readonly GraphQLError[]): void {
  const { status, headers } = statusOfRefusal(errors);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  send(response, status === 400 && mediaType === JSON_TYPE ? 200 : status, mediaType, { errors });
}

/** Says that a request could not be answered: no operation failed, which would be in its result. */
export function sendFailure(response: ServerResponse, error: GraphQLError): void {
  closeIfUnread(response);
  if (statusOfRefusal([error]).status === 503) sendRefusal(response, JSON_TYPE, [error]);
  else send(response, 500, JSON_TYPE, { errors: [error] });
}

/** What is answered before the body has come ends the connection: the rest of the body would only be thrown away. */
export function closeIfUnread(response: ServerResponse): void {
  const { complete, headers } = response.req;
  const hasBody = 'content-length' in headers || 'transfer-encoding' in headers;
  if (hasBody && !complete) endConnectionWith(response);
}
