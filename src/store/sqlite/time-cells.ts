import { systemTime, type TimeSource } from './shared-clock.js';

/** A time that is set by hand, seen by all threads: [wall clock, monotonic clock] in milliseconds, as 64 bit floats. */
export type TimeCells = SharedArrayBuffer;

/** The time in the cells; without them, the machine's. */
export function timeSourceOf(cells: TimeCells | null): TimeSource {
  if (cells === null) return systemTime;
  const [WALL, MONOTONIC] = [0, 1];
  const values = new Float64Array(cells);
  return { wall: () => values[WALL] ?? 0, monotonic: () => values[MONOTONIC] ?? 0 };
}
