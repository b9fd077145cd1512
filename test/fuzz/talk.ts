import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CloseCode } from 'graphql-ws';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import { DEFAULT_LIMITS } from '../../src/server/limits.js';
import { expectErrors, expectResult } from './answers.js';

/** Those that say what the client did: of graphql-transport-ws, and of RFC 6455 (protocol error, bytes, no UTF-8, too big). */
const BLAMING: readonly number[] = [
  ...[CloseCode.BadRequest, CloseCode.Unauthorized, CloseCode.SubprotocolNotAcceptable, CloseCode.ConnectionInitialisationTimeout],
  ...[CloseCode.SubscriberAlreadyExists, CloseCode.TooManyInitialisationRequests],
  ...[1002, 1003, 1007, 1009],
];
const FAULTS: readonly number[] = [1011, CloseCode.InternalServerError];
const TOO_BIG = 1009;
/** All that a client sees that is still sending when the server has done with it. */
const CUT_OFF = 1006;

/** What asks whether a socket is still taken care of. No other operation has this id. */
const LAST = 'asked last';
const LAST_MESSAGE = JSON.stringify({ type: 'subscribe', id: LAST, payload: { query: '{ server { version } }' } });
const PATIENCE_MS = 5_000;
/** What a message has besides its payload. */
const ENVELOPE_BYTES = 100;

/**
 * Says all that on a socket of its own, a few messages in each turn, and then asks whether it is still taken care of: it is
 * answered, or the socket was closed with a code that blames the client.
 */
export async function converse(url: string, turns: readonly (readonly string[])[]): Promise<void> {
  const talk = await Talk.open(url);
  try {
    for (const messages of turns) {
      for (const message of messages) talk.socket.send(message);
      await nextTurn();
    }
    talk.socket.send(LAST_MESSAGE);
    const code = await talk.until((id) => id === LAST);
    if (code !== null) expect(turns.flat().some(isTooBig) ? [...BLAMING, CUT_OFF] : BLAMING).toContain(code);
  } finally {
    await talk.end();
  }
}

/** Runs an operation, which ends if it is no subscription. Nothing in it but its length can close the socket. */
export async function operate(url: string, payload: string, endsByItself: boolean): Promise<void> {
  const talk = await Talk.open(url);
  try {
    talk.socket.send('{"type":"connection_init"}');
    await talk.until((_, type) => type === 'connection_ack');
    talk.socket.send(`{"type":"subscribe","id":"1","payload":${payload}}`);
    const ended = endsByItself ? await talk.until((id, type) => id === '1' && type !== 'next') : null;
    talk.socket.send(LAST_MESSAGE);
    const closed = ended ?? (await talk.until((id) => id === LAST));
    if (closed !== null) expect(isTooBig(payload) ? [TOO_BIG, CUT_OFF] : []).toContain(closed);
  } finally {
    await talk.end();
  }
}

function isTooBig(text: string): boolean {
  return Buffer.byteLength(text) > DEFAULT_LIMITS.messageBytes - ENVELOPE_BYTES;
}

/** A client that checks whatever it is told. */
class Talk {
  #problem: Error | null = null;
  #closed: number | null = null;
  #wake: (() => void) | null = null;
  readonly #told: { readonly id: unknown; readonly type: string }[] = [];

  static async open(url: string): Promise<Talk> {
    const socket = new WebSocket(url.replace(/^http/, 'ws'), 'graphql-transport-ws');
    const talk = new Talk(socket);
    await once(socket, 'open');
    return talk;
  }

  private constructor(readonly socket: WebSocket) {
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      this.#closed = code;
      this.#wake?.();
    });
    socket.on('message', (data: Buffer) => {
      try {
        this.#told.push(expectMessage(data.toString()));
      } catch (error) {
        this.#problem ??= error as Error;
      }
      this.#wake?.();
    });
  }

  /** Null when such a message has come; the code with which the socket was closed instead. */
  async until(isIt: (id: unknown, type: string) => boolean): Promise<number | null> {
    const timeout = setTimeout(() => {
      this.#problem ??= new Error(`Not answered, nor closed, in ${PATIENCE_MS} ms`);
      this.#wake?.();
    }, PATIENCE_MS);
    try {
      for (;;) {
        if (this.#problem !== null) throw this.#problem;
        if (this.#told.some(({ id, type }) => isIt(id, type))) return null;
        if (this.#closed !== null) return this.#closed;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      clearTimeout(timeout);
    }
  }

  async end(): Promise<void> {
    const closed = this.#closed === null ? once(this.socket, 'close') : null;
    this.socket.terminate();
    await closed;
  }
}

/** A message that servers may send. */
function expectMessage(text: string): { readonly id: unknown; readonly type: string } {
  const { id, type, payload } = JSON.parse(text);
  if (type === 'next') expectResult(payload);
  else if (type === 'error') expectErrors(payload);
  else expect(['connection_ack', 'pong', 'complete'], text.slice(0, 500)).toContain(type);
  return { id, type };
}

const UPGRADE_ENDS = '\r\n\r\n';

/**
 * Reads what came on a connection that has become a WebSocket: whole frames, of messages that servers may send. A code that it
 * is closed with may be the client's own, sent back.
 *
 * @param received a character for each byte
 */
export function expectFrames(received: string): void {
  if (received === '') return;
  expect(received).toMatch(/^HTTP\/1\.1 101 /);
  let rest = Buffer.from(received.slice(received.indexOf(UPGRADE_ENDS) + UPGRADE_ENDS.length), 'latin1');
  while (rest.length > 0) {
    const { opcode, payload, length } = readFrame(rest);
    if (opcode === 1) expectMessage(payload.toString());
    else if (opcode === 8) expect(FAULTS).not.toContain(payload.length === 0 ? null : payload.readUInt16BE());
    else expect([9, 10], 'opcode').toContain(opcode);
    rest = rest.subarray(length);
  }
}

/** @throws where it is cut off. */
function readFrame(bytes: Buffer) {
  expect(bytes[0]! & 0x70, 'reserved bits').toBe(0);
  const short = bytes[1]!;
  const [size, head] =
    short < 126 ? [short, 2] : short === 126 ? [bytes.readUInt16BE(2), 4] : [Number(bytes.readBigUInt64BE(2)), 10];
  const length = head + size;
  expect(bytes.length, 'a frame was cut off').toBeGreaterThanOrEqual(length);
  return { opcode: bytes[0]! & 0x0f, payload: bytes.subarray(head, length), length };
}
