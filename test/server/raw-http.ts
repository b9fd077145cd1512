import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/** A connection on which a test writes what no client would; cut when the test is over. */
export async function connectRaw(origin: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** A request in text, its lines as a list; `connection: close` is the test's to add. */
export function requestOf(lines: readonly string[], body = ''): string {
  return [...lines, ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]), '', body].join('\r\n');
}

/** All that comes until the server ends the connection. */
export async function readToEnd(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}
