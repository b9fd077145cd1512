import { connectionKey, readUnacknowledged, type Ends } from './tcp-table.js';

const LOOK_INTERVAL_MS = 15_000;

/** What is sent to the peer on; a net.Socket is one. */
export interface Connection extends Ends {
  readonly bytesWritten: number;
  readonly writableLength: number;
}

export interface Peer {
  /** What is sent only to see whether it is there takes so many bytes: that they are left says nothing. */
  readonly pingBytes: number;
  /** Whether anybody wants to know what it has taken. */
  isDoubted(): boolean;
  /**
   * Every 15 s, while it is doubted.
   *
   * @param took whether it has taken some of what was sent to it since the last time.
   * @param left whether something is left to take; `leftBefore`: whether there was the last time.
   */
  seen(took: boolean, left: boolean, leftBefore: boolean): void;
}

interface Watched {
  readonly connection: Connection;
  readonly peer: Peer;
  /**
   * The bytes that the peer has, less those that Node has given to the system of a write that is not done. It falls where Node
   * gives it more of one, which it can only where the peer has made room.
   */
  taken: number;
  isLeft: boolean;
}

/**
 * Sees whether the peers of connections take what is sent to them. Node says of a write no more than that all of it went to the
 * system, which may keep it for a quarter of an hour after the peer has vanished, or for long while a slow one takes it
 * little by little. What the peer's system acknowledged is told by the system's own table. Where there is none, that what
 * went to the system was taken has to be assumed.
 */
export class PeerWatch {
  readonly #readTable: typeof readUnacknowledged;
  readonly #peers = new Set<Watched>();
  #looking: NodeJS.Timeout | null = null;

  constructor(readTable = readUnacknowledged) {
    this.#readTable = readTable;
  }

  /** @returns what ends the watch. */
  watch(connection: Connection, peer: Peer): () => void {
    const taken = connection.bytesWritten - connection.writableLength;
    const watched = { connection, peer, taken, isLeft: false };
    this.#peers.add(watched);
    this.#looking ??= setInterval(() => void this.#look(), LOOK_INTERVAL_MS).unref();
    return () => {
      this.#peers.delete(watched);
      if (this.#peers.size > 0 || this.#looking === null) return;
      clearInterval(this.#looking);
      this.#looking = null;
    };
  }

  async #look(): Promise<void> {
    const doubted = [...this.#peers].filter(({ peer }) => peer.isDoubted());
    if (doubted.length === 0) return;
    const table = await this.#readTable();
    for (const watched of doubted) {
      if (!this.#peers.has(watched)) continue;
      const { connection, peer, isLeft: leftBefore } = watched;
      const left = connection.writableLength + (table.get(connectionKey(connection)) ?? 0);
      const taken = connection.bytesWritten - left;
      const took = taken !== watched.taken;
      watched.taken = taken;
      watched.isLeft = left > peer.pingBytes;
      peer.seen(took, watched.isLeft, leftBefore);
    }
  }
}
