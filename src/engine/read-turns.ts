/**
 * Lets the readers of one connection read one after the other: what one of them has read is sent, and forgotten, before the
 * next one reads.
 */
export class ReadTurns {
  #holder: object | null = null;
  readonly #waiting = new Map<object, () => void>();

  /** Resolves when it is the reader's turn, which lasts until it leaves. At once, where it is so already. */
  async take(reader: object): Promise<void> {
    if (this.#holder === null || this.#holder === reader) this.#holder = reader;
    else await new Promise<void>((resolve) => this.#waiting.set(reader, resolve));
  }

  /** Ends the reader's turn, or its wait for one: a `take` that waits resolves. */
  leave(reader: object): void {
    this.#waiting.get(reader)?.();
    this.#waiting.delete(reader);
    if (this.#holder !== reader) return;
    const [next] = this.#waiting;
    this.#holder = next?.[0] ?? null;
    if (next === undefined) return;
    this.#waiting.delete(next[0]);
    next[1]();
  }
}
