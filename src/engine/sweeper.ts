import type { LockStore } from '../store/lock-store.js';
import type { EngineObserver } from './observer.js';
import { repeat } from './repeat.js';
import type { Writer } from './writer.js';

const SWEEP_MS = 100;
/** Expiries in one group at the most. */
const SWEEP_LOCKS = 1000;

/**
 * Turns passed expiries into EXPIRED events. Looking is one step in an index, so it looks often instead of keeping
 * timers: nothing that it missed, slept through or was not told of stays unseen for longer than a moment.
 *
 * @returns how to stop it; resolves when nothing of it is under way any more.
 */
export function startSweeper(store: LockStore, writer: Writer, observer: EngineObserver): () => Promise<void> {
  return repeat(SWEEP_MS, observer, async () => {
    const resources = await store.dueExpiries(SWEEP_LOCKS);
    await Promise.all(resources.map((resource) => writer.submit({ kind: 'expire', resource })));
    return resources.length === SWEEP_LOCKS;
  });
}
