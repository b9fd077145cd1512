import { readFile } from 'node:fs/promises';
import { SocketAddress } from 'node:net';
import { endianness } from 'node:os';

/** Linux' tables of all TCP connections. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

/** Of a line: the local port, the address and the port of the peer, and what it has not acknowledged; only where that is not 0. */
const UNACKNOWLEDGED = /: [\dA-F]+:([\dA-F]{4}) ([\dA-F]+):([\dA-F]{4}) [\dA-F]{2} (?!00000000)([\dA-F]{8}):/g;

const IPV4_DIGITS = 8;

/** How many bytes were handed to the system for the peer, and were not acknowledged by the peer's system. Left out: none. */
export type Unacknowledged = ReadonlyMap<string, number>;

/** What it says of all connections of the machine, each under its {@link connectionKey}. Empty on other systems than Linux. */
export async function readUnacknowledged(): Promise<Unacknowledged> {
  const texts = await Promise.all(TABLES.map((file) => readFile(file, 'latin1').catch(() => '')));
  return new Map(texts.flatMap(parseTcpTable));
}

/** The ends of a connection; a net.Socket has them. */
export interface Ends {
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

export function connectionKey({ localPort = 0, remoteAddress = '', remotePort = 0 }: Ends): string {
  return `${localPort} ${remoteAddress} ${remotePort}`;
}

/** What is not acknowledged, by key. */
export function parseTcpTable(text: string): [string, number][] {
  return Array.from(text.matchAll(UNACKNOWLEDGED), ([, localPort = '', address = '', port = '', bytes = '']) => [
    `${parseInt(localPort, 16)} ${addressOf(address)} ${parseInt(port, 16)}`,
    parseInt(bytes, 16),
  ]);
}

/** The table has each four bytes of an address as one number. */
function addressOf(digits: string): string {
  const bytes = Buffer.from(digits, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  if (digits.length === IPV4_DIGITS) return bytes.join('.');
  const address = bytes.toString('hex').replace(/(.{4})(?!$)/g, '$1:');
  return new SocketAddress({ address, family: 'ipv6' }).address;
}
