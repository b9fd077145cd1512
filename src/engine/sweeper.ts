import type { LockStore } from '../store/lock-store.js';
import type { EngineObserver } from './observer.js';
import { repeat } from './repeat.js';
import type { Writer } from './writer.js';

const SWEEP_MS = 100;
/** Expiries in one group at the most. */
const SWEEP_LOCKS = 1000;

/**
 * How often it looks for locks that are free although somebody stands in line: who was ahead of them has gone. Those that are kept
 * free for a call that waits for others as well are among them, so it looks at the lines by turns.
 */
const IDLE_LINES_MS = 1000;

/**
 * Turns passed expiries into EXPIRED events. Looking is one step in an index, so it looks often instead of keeping
 * timers: nothing that it missed, slept through or was not told of stays unseen for longer than a moment. So does a lock that is
 * free although somebody stands in line for it: it is handed on.
 *
 * @returns how to stop it; resolves when nothing of it is under way any more.
 */
export function startSweeper(store: LockStore, writer: Writer, observer: EngineObserver): () => Promise<void> {
  const settle = (resources: readonly string[]) =>
    Promise.all(resources.map((resource) => writer.submit({ kind: 'expire', resource })));
  const stopSweeping = repeat(SWEEP_MS, observer, async () => {
    const resources = await store.dueExpiries(SWEEP_LOCKS);
    await settle(resources);
    return resources.length === SWEEP_LOCKS;
  });
  let lookedAt: string | null = null;
  const stopLooking = repeat(IDLE_LINES_MS, observer, async () => {
    const resources = await store.idleLines(lookedAt, SWEEP_LOCKS);
    lookedAt = resources.length === SWEEP_LOCKS ? (resources.at(-1) ?? null) : null;
    await settle(resources);
    return false;
  });
  return async () => {
    await Promise.all([stopSweeping(), stopLooking()]);
  };
}
