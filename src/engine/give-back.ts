import { setTimeout as sleep } from 'node:timers/promises';
import type { LockEvent } from '../locks/events.js';
import type { EngineObserver } from './observer.js';
import type { Writer } from './writer.js';

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/**
 * Releases what somebody got who can't be told of it. While the database does not answer, it tries again, until the lock would have
 * expired by itself, or nobody is to wait for it any longer. Never throws.
 */
export async function giveBack(
  grant: LockEvent,
  writer: Writer,
  observer: EngineObserver,
  isClosing: () => boolean,
): Promise<void> {
  const { resource, owner, fencingToken, expiresAt, acquiredAt } = grant;
  const until = performance.now() + expiresAt - acquiredAt;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
    try {
      await writer.submit({ kind: 'release', resource, owner, fencingToken });
      return;
    } catch (error) {
      observer.failed(error);
    }
    if (isClosing() || performance.now() + pause > until) return;
    await sleep(pause, undefined, { ref: false });
  }
}
