import { setImmediate as nextTurn } from 'node:timers/promises';
import { constants } from 'node:os';
import type { Logger } from '../observability/logger.js';
import type { Health } from './health.js';
import type { HttpServer } from './http.js';
import type { Operations } from './operations.js';
import type { WebSocketTransport } from './websocket.js';

export interface ShutdownParts {
  readonly health: Health;
  readonly http: HttpServer;
  readonly webSockets: WebSocketTransport;
  readonly operations: Operations;
  /** Whoever stands in line is told to try elsewhere. */
  readonly stopWaiting: () => Promise<void>;
  /** Closes what the transports stand on. */
  readonly closeServices: () => Promise<void>;
}

/** Operations under way get this long to be answered, and their answers that long to be taken. */
const OPERATIONS_MS = 5_000;
const ANSWERS_MS = 1_000;

/** Whoever started the process expects it gone within 10 s. */
const FORCED_EXIT_MS = 9_500;

/** Ctrl+C reaches what npm has started twice: from the terminal, and passed on by npm. */
const SAME_SIGNAL_MS = 500;

/**
 * Ends the service in the order in which nobody is told something untrue:
 *
 * 1. not ready, no new connections, and new operations are refused as UNAVAILABLE
 * 2. operations under way are answered (those that stand in line with UNAVAILABLE), and the answers written
 * 3. streams break off as going away (WebSocket 1001; server-sent events without `complete`), so that clients resume
 *    elsewhere. A watch that simply ended would look complete.
 * 4. the engine and the database are let go
 */
export async function shutDown({ health, http, webSockets, operations, stopWaiting, closeServices }: ShutdownParts): Promise<void> {
  health.shutDown();
  http.stopListening();
  try {
    await Promise.all([stopWaiting(), operations.drain(OPERATIONS_MS)]);
    await nextTurn();
    await http.drain(ANSWERS_MS);
    await webSockets.close();
    http.closeConnections();
  } finally {
    await closeServices();
  }
}

export type Closer = () => Promise<void>;

/**
 * Closes all, one after the other, the one that was opened last first.
 *
 * @throws the first error there was, when the others are closed as well.
 */
export async function closeAll(closers: readonly Closer[]): Promise<void> {
  const errors: unknown[] = [];
  for (const close of closers.toReversed()) {
    try {
      await close();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** The first SIGTERM or SIGINT ends the process in good order and with code 0; one that comes well after it ends it at once. */
export function closeOnSignal(close: () => Promise<void>, logger: Logger): void {
  let closingSince: number | null = null;
  const onSignal = (signal: 'SIGTERM' | 'SIGINT'): void => {
    if (closingSince !== null) {
      if (performance.now() - closingSince >= SAME_SIGNAL_MS) process.exit(128 + constants.signals[signal]);
      return;
    }
    closingSince = performance.now();
    logger.info({ signal }, 'shutting down');
    setTimeout(() => {
      logger.error('shutdown took too long');
      process.exit(1);
    }, FORCED_EXIT_MS).unref();
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, 'shutdown failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}
