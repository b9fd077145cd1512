import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** What is sent on a connection of its own: a character for each byte, so that it can be read where it is shown. */
export interface Sending {
  readonly bytes: string;
  /** Where what is sent is divided, from 0 to 1. */
  readonly cuts: readonly number[];
  /** How the connection ends: its sender has no more to say, or is gone at once, or first waits for an answer. */
  readonly end: 'finished' | 'gone at once' | 'gone after the answer';
}

/** So long nothing comes that is still to come of an answer that has begun, or is about to. */
const QUIET_MS = 12;
/** A server that does not end a connection whose peer has nothing more to say has forgotten it. */
const PATIENCE_MS = 5_000;

/** All that comes back; empty where the sender does not wait for it, or the server cuts it off with bytes unread. */
export async function exchange(origin: string, { bytes, cuts, end }: Sending): Promise<string> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  const closed = new Promise<boolean>((resolve) => socket.once('close', resolve));
  try {
    for (const piece of piecesOf(bytes, cuts)) {
      socket.write(piece, 'latin1');
      await nextTurn();
    }
    if (end === 'gone at once') return '';
    await quiet(socket, () => received.length);
    if (end === 'gone after the answer') return '';
    socket.end();
    const isReset = await Promise.race([closed, patience()]);
    // What was on its way then is lost.
    return isReset ? '' : received;
  } finally {
    socket.destroy();
  }
}

export function piecesOf(bytes: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)), bytes.length].sort((one, other) => one - other);
  return places.slice(1).map((place, index) => bytes.slice(places[index], place));
}

/** Resolves when the connection is closed, or nothing has come for a while. */
async function quiet(socket: Socket, received: () => number): Promise<void> {
  for (let before = -1; before !== received() && !socket.destroyed;) {
    before = received();
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  }
}

async function patience(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(
      () => reject(new Error('The server did not end a connection whose peer has nothing more to say')),
      PATIENCE_MS,
    ).unref();
  });
}
