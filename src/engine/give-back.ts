import { setTimeout as sleep } from 'node:timers/promises';
import type { Lock } from '../locks/lock.js';
import type { EngineObserver } from './observer.js';
import type { Writer } from './writer.js';

/** What somebody got. */
export type GivenLock = Pick<Lock, 'resource' | 'owner' | 'fencingToken' | 'acquiredAt' | 'expiresAt'>;

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/**
 * Releases what somebody got who can't be told of it, or does not want it any more. While the database does not answer, it tries again, until the lock would have
 * expired by itself, or nobody is to wait for it any longer. Never throws.
 */
export async function giveBack(lock: GivenLock, writer: Writer, observer: EngineObserver, isClosing: () => boolean): Promise<void> {
  const { resource, owner, fencingToken, expiresAt, acquiredAt } = lock;
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
