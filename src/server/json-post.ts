import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OperationTypeNode, type ExecutionResult } from 'graphql';
import { badUserInput } from '../graphql/errors.js';
import { acceptedTypes, EVENT_STREAM, JSON_TYPE, RESPONSE_TYPE, type MediaType } from './accept.js';
import { limitExceeded, notBegun, statusOfRefusal } from './errors.js';
import { LIMITS } from './limits.js';
import { httpCaller } from './http-caller.js';
import { isRefused, type OperationRequest, type Operations } from './operations.js';

/** A request whose body was read. It is where Yoga looks for one. */
export interface ReadRequest extends IncomingMessage {
  body?: Buffer;
}

/**
 * The short way of a POST with JSON, which is nearly all of the traffic: no request and response objects of the Fetch
 * API in between. It follows GraphQL over HTTP as Yoga does, with the same limits and rules.
 *
 * @returns false where Yoga must answer: a subscription, or a caller that prefers another type than JSON. Then
 * `request.body` holds the body.
 */
export async function answerJsonPost(request: ReadRequest, response: ServerResponse, operations: Operations): Promise<boolean> {
  const body = await readBody(request);
  if (body === null) {
    // The rest of the body is not read, so the connection is of no more use.
    response.setHeader('connection', 'close');
    send(response, 413, JSON_TYPE, { errors: [limitExceeded(`A request may have at most ${LIMITS.messageBytes} bytes`)] });
    return true;
  }
  request.body = body;
  const [mediaType] = acceptedTypes(request.headers.accept);
  // Decoded, all that is no UTF-8 would be the same U+FFFD: names that differ would name one lock.
  if (!isUtf8(body)) {
    const type = mediaType === RESPONSE_TYPE ? RESPONSE_TYPE : JSON_TYPE;
    send(response, 400, type, { errors: [badUserInput(null, 'The body is not UTF-8')] });
    return true;
  }
  if (mediaType === undefined || mediaType === EVENT_STREAM) return false;

  const params = readParams(body);
  if (typeof params === 'string') {
    send(response, 400, mediaType, { errors: [badUserInput(null, params)] });
    return true;
  }
  const operation = operations.prepare({ ...params, caller: httpCaller(response, null) }, 'http');
  if (isRefused(operation)) {
    refuse(response, mediaType, { errors: operation });
    return true;
  }
  if (operation.type === OperationTypeNode.SUBSCRIPTION) return false;
  const result = await operations.execute(operation);
  // Without data nothing was executed: the variables could not be read.
  if ('data' in result) send(response, 200, mediaType, result);
  else refuse(response, mediaType, result);
  return true;
}

/** What GraphQL over HTTP says of a request that never got to its execution. */
function refuse(response: ServerResponse, mediaType: MediaType, refused: ExecutionResult): void {
  const { status, headers } = statusOfRefusal(refused.errors ?? []);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  send(response, status === 400 && mediaType === JSON_TYPE ? 200 : status, mediaType, refused);
}

export function send(response: ServerResponse, status: number, mediaType: string, result: ExecutionResult): void {
  const body = Buffer.from(JSON.stringify(result));
  response.writeHead(status, { 'content-type': `${mediaType}; charset=utf-8`, 'content-length': body.length });
  response.end(body);
}

/** null: more than is allowed. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  if (Number(request.headers['content-length'] ?? 0) > LIMITS.messageBytes) return null;
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > LIMITS.messageBytes) {
        request.pause();
        resolve(null);
        return;
      }
      chunks.push(chunk);
    });
    request.once('end', () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)));
    request.once('error', reject);
    request.once('close', () => {
      if (!request.complete) reject(notBegun('The request was cut off'));
    });
  });
}

/** The parameters, or what is wrong with them. */
function readParams(body: Buffer): Omit<OperationRequest, 'caller'> | string {
  let params: unknown;
  try {
    params = JSON.parse(body.toString());
  } catch {
    return 'The body is not JSON';
  }
  if (Array.isArray(params)) return 'The body must be one operation: batches are not supported';
  if (!isObject(params)) return 'The body must be a JSON object';
  const { query, operationName, variables, extensions } = params;
  if (typeof query !== 'string') return 'query must be a string: the text of the operation';
  if (operationName != null && typeof operationName !== 'string') return 'operationName must be a string';
  if (variables != null && !isObject(variables)) return 'variables must be an object';
  if (extensions != null && !isObject(extensions)) return 'extensions must be an object';
  return { query, operationName, variables };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
