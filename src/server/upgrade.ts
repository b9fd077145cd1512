import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** What only a change of the protocol means, in the names that headers have and that Connection lists. */
const OF_UPGRADES: ReadonlySet<string> = new Set(['upgrade', 'http2-settings']);

export function asksForWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * Answers a request that asks for an upgrade as if it had not: a server may ignore what it doesn't speak (RFC 9110, 7.8),
 * and clients that would rather have HTTP/2 (`Upgrade: h2c`) ask on every first request. Node hands a request with any
 * Upgrade to the listener of upgrades, its body unread, so it is parsed once more, as a request on a connection that has
 * just been opened. What it is parsed from has no Upgrade, so it can't come back here.
 *
 * @param bodyHead what was read of the socket behind the request's headers
 */
export function ignoreUpgrade(server: Server, request: IncomingMessage, socket: Duplex, bodyHead: Buffer): void {
  // That of a connection on which nobody asks: it begins again where the answer before this one was sent.
  (socket as Partial<Socket>).setTimeout?.(0);
  socket.unshift(Buffer.concat([headWithoutUpgrade(request), bodyHead]));
  server.emit('connection', socket);
}

function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    // The other options of the connection still count: `close` most of all.
    const kept = name.toLowerCase() === 'connection' ? withoutUpgrade(value) : value;
    if (!OF_UPGRADES.has(name.toLowerCase())) lines.push(`${name}: ${kept}`);
  }
  // Node reads headers as Latin-1: each byte is the character of its number.
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

function withoutUpgrade(connection: string): string {
  const options = connection.split(',').map((option) => option.trim());
  return options.filter((option) => !OF_UPGRADES.has(option.toLowerCase())).join(', ');
}
