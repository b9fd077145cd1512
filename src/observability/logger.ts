import { writeSync } from 'node:fs';
import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger };

const STANDARD_OUTPUT = 1;

/** Writes as much as there is room for, and returns how many bytes that was. Throws where there is none. */
export type WriteBytes = (bytes: Buffer) => number;

/**
 * One JSON object a line, on standard output. Who logs an operation names its id, its kind and its error, never its
 * variables: metadata is the callers' own.
 */
export function createLogger(level: string, destination: DestinationStream = lossyLines()): Logger {
  const options = { level, base: { pid: process.pid }, timestamp: () => `,"time":"${new Date().toISOString()}"` };
  return pino(options, destination);
}

/**
 * A destination that never fails: what there is no room for is lost. Pino's own would take a full disk or a reader that
 * is gone for a fault of the program, and try again without end as the process exits, which keeps it from exiting.
 *
 * A pipe that somebody made non-blocking takes a part of a line, or nothing (EAGAIN): its reader is too slow. The rest of
 * a line that was begun goes before the next one, so a line is written whole or not at all; nobody waits for a reader.
 */
export function lossyLines(write: WriteBytes = (bytes) => writeSync(STANDARD_OUTPUT, bytes)): DestinationStream {
  let rest: Buffer = Buffer.alloc(0);

  const writeRest = (): void => {
    try {
      while (rest.length > 0) rest = rest.subarray(write(rest));
    } catch {
      // A log has nowhere to say that it can't be written.
    }
  };

  return {
    write(line) {
      writeRest();
      if (rest.length > 0) return;
      const bytes = Buffer.from(line);
      rest = bytes;
      writeRest();
      if (rest.length === bytes.length) rest = Buffer.alloc(0);
    },
  };
}
