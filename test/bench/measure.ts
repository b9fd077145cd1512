import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export interface Measured {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

/** Each lane does one operation after the other for so long; latencies in milliseconds. */
export async function runLanes(
  lanes: number,
  durationMs: number,
  operation: (lane: number, round: number) => Promise<unknown>,
): Promise<Measured> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + durationMs;
  const runLane = async (lane: number) => {
    for (let round = 0; performance.now() < endsAt; round++) {
      const before = performance.now();
      await operation(lane, round);
      latencies.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane)));
  return summary(latencies, performance.now() - startedAt);
}

export function summary(latencies: number[], durationMs: number): Measured {
  latencies.sort((a, b) => a - b);
  const quantile = (q: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * q))] ?? Number.NaN;
  return { perSecond: latencies.length / (durationMs / 1000), p50: quantile(0.5), p99: quantile(0.99) };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The median of each figure over several runs. */
export function medians(runs: readonly Measured[]): Measured {
  return {
    perSecond: median(runs.map((run) => run.perSecond)),
    p50: median(runs.map((run) => run.p50)),
    p99: median(runs.map((run) => run.p99)),
  };
}

/** What this disk takes to make 4 KiB durable, in milliseconds: the median of 200 times. */
export function fdatasyncMs(directory: string): number {
  const file = join(directory, 'fdatasync.tmp');
  const descriptor = openSync(file, 'w');
  const block = Buffer.alloc(4096, 1);
  const times = Array.from({ length: 200 }, () => {
    writeSync(descriptor, block);
    const before = performance.now();
    fdatasyncSync(descriptor);
    return performance.now() - before;
  });
  closeSync(descriptor);
  rmSync(file);
  return median(times);
}

/** A directory on the disk of the working directory: the one of the system may be in memory. */
export function benchDirectory(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(process.cwd(), '.bench-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

export const whole = (value: number) => Math.round(value).toLocaleString('en');
export const ms = (value: number) => `${value.toFixed(2)} ms`;
export const ratio = (value: number) => value.toFixed(2);
