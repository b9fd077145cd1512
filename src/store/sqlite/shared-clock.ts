/** What the machine tells of the time. */
export interface TimeSource {
  /** Epoch milliseconds; may jump, in both directions. */
  wall(): number;
  /** Milliseconds that only rise, the same in all threads of the process. */
  monotonic(): number;
}

export const systemTime: TimeSource = {
  wall: () => Date.now(),
  monotonic: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1000 + Math.floor(nanoseconds / 1e6);
  },
};

/** A laptop that slept comes back with a wall clock that is ahead by more than this: the monotonic clock stood still. */
const JUMP_MS = 1000;

/**
 * The one clock of a process on an SQLite file, for all its threads: the wall clock of its start, advanced by the
 * monotonic clock. It goes forward where the database or the wall clock is ahead, and never backwards.
 */
export class SharedClock {
  /** One number: what is added to the monotonic clock. It only rises, so that the time only rises. */
  readonly buffer: SharedArrayBuffer;
  readonly #offset: BigInt64Array;
  readonly #time: TimeSource;

  /** @param buffer that of the process's first clock; left out: this is the first one. */
  constructor(time: TimeSource, buffer?: SharedArrayBuffer) {
    this.#time = time;
    this.buffer = buffer ?? new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
    this.#offset = new BigInt64Array(this.buffer);
    if (buffer === undefined) Atomics.store(this.#offset, 0, BigInt(time.wall() - time.monotonic()));
  }

  /** Epoch milliseconds. */
  now(): number {
    const monotonic = this.#time.monotonic();
    const now = monotonic + Number(Atomics.load(this.#offset, 0));
    const wall = this.#time.wall();
    return wall - now > JUMP_MS ? this.#raise(wall, monotonic) : now;
  }

  /** The time, once it is known that a clock on the same database has told `at`. */
  nowNotBefore(at: number): number {
    const now = this.now();
    return at > now ? this.#raise(at, this.#time.monotonic()) : now;
  }

  #raise(to: number, monotonic: number): number {
    const wanted = BigInt(to - monotonic);
    let seen = Atomics.load(this.#offset, 0);
    while (seen < wanted) {
      const before = Atomics.compareExchange(this.#offset, 0, seen, wanted);
      if (before === seen) return to;
      seen = before;
    }
    return monotonic + Number(seen);
  }
}
