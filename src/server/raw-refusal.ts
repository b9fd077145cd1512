import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { GraphQLError } from 'graphql';
import { JSON_TYPE } from './accept.js';
import { closeLingering } from './lingering-close.js';
import { commonHeaders } from './service-response.js';

export interface RawRefusal {
  readonly status: number;
  readonly error: GraphQLError;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Tells the same that a request over HTTP would be told on a connection that has no response of HTTP (any more), and ends it.
 */
export function refuseRaw(socket: Duplex, { status, error, headers = {} }: RawRefusal): void {
  const body = JSON.stringify({ errors: [error] });
  const lines = Object.entries({
    ...commonHeaders(randomUUID()),
    ...headers,
    'content-type': `${JSON_TYPE}; charset=utf-8`,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}`);
  socket.on('error', () => socket.destroy());
  socket.write([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
  closeLingering(socket);
}
