/**
 * The database's time, for answers that are read. Each is read after it was asked for, and shared by all who ask meanwhile:
 * one question is under way at a time.
 */
export class DatabaseClock {
  readonly #read: () => Promise<number>;
  #latest = 0;
  #underWay: Promise<unknown> = Promise.resolve();
  #next: Promise<number> | null = null;

  /** @param read asks the database, in epoch milliseconds */
  constructor(read: () => Promise<number>) {
    this.#read = read;
  }

  now(): Promise<number> {
    return (this.#next ??= this.#ask());
  }

  /** The time that the database told, or the latest that this instance has seen: the time never runs back. */
  notBefore(now: number): number {
    return (this.#latest = Math.max(this.#latest, now));
  }

  async #ask(): Promise<number> {
    await this.#underWay;
    this.#next = null;
    const reading = this.#read();
    this.#underWay = reading.catch(() => undefined);
    return this.notBefore(await reading);
  }
}
