import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger };

/**
 * One JSON object a line, on standard output. Who logs an operation names its id, its kind and its error, never its
 * variables: metadata is the callers' own.
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = { level, base: { pid: process.pid }, timestamp: () => `,"time":"${new Date().toISOString()}"` };
  return destination === undefined ? pino(options) : pino(options, destination);
}
