import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { GraphQLError } from 'graphql';
import { JSON_TYPE } from './accept.js';
import { closeLingering } from './lingering-close.js';

export interface RawRefusal {
  readonly status: number;
  readonly error: GraphQLError;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Tells the same that a request over HTTP would be told on a connection that has no response of HTTP (any more), and ends it.
 * Does nothing where it has ended.
 */
export function refuse(socket: Duplex, { status, error, headers = {} }: RawRefusal): void {
  if (!socket.writable) return;
  const body = JSON.stringify({ errors: [error] });
  const lines = Object.entries({
    ...headers,
    'content-type': `${JSON_TYPE}; charset=utf-8`,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}`);
  socket.on('error', () => socket.destroy());
  socket.write([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
  closeLingering(socket);
}
