import { setTimeout as sleep } from 'node:timers/promises';
import type { LeaveCommand, ReleaseCommand } from '../locks/commands.js';
import type { EngineObserver } from './observer.js';
import type { Writer } from './writer.js';

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/**
 * Gives up what nobody waits for: a lock, or a place in line. While the database does not answer, it tries again, for as long as
 * that is worth anything, or until the server closes. Never throws.
 *
 * @param worthMs how long it takes until it is gone by itself
 */
export async function giveUp(
  command: ReleaseCommand | LeaveCommand,
  worthMs: number,
  writer: Writer,
  observer: EngineObserver,
  closing: AbortSignal,
): Promise<void> {
  const until = performance.now() + worthMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
    try {
      await writer.submit(command);
      return;
    } catch (error) {
      observer.failed(error);
    }
    if (closing.aborted || performance.now() + pause > until) return;
    // The server closes: once more, then never again.
    await sleep(pause, undefined, { ref: false, signal: closing }).catch(() => undefined);
  }
}
