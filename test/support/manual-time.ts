import type { TimeCells } from '../../src/store/sqlite/time-cells.js';

/** A machine's time that moves only when a test moves it, in all threads. */
export class ManualTime {
  readonly cells: TimeCells = new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT);
  readonly #values = new Float64Array(this.cells);

  constructor(wall = Date.UTC(2026, 0, 1)) {
    this.#values.set([wall, 1_000_000]);
  }

  get wall(): number {
    return this.#values[0] as number;
  }

  /** Lets time pass. */
  advance(ms: number): void {
    this.#values.set([this.wall + ms, (this.#values[1] as number) + ms]);
  }

  /** Sets the wall clock alone, as an administrator or a time server does. */
  jumpTo(wall: number): void {
    this.#values[0] = wall;
  }
}
