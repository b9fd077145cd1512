import type { EngineObserver } from './observer.js';

/**
 * Does the work now and then again after each pause; without the pause where it resolves to true: there is more to do.
 * A failure is told to the observer, and the next round tries again.
 *
 * @returns how to stop it; resolves when no work is under way any more.
 */
export function repeat(pauseMs: number, observer: EngineObserver, work: () => Promise<boolean>): () => Promise<void> {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  const round = async (): Promise<void> => {
    let hasMore = false;
    try {
      hasMore = await work();
    } catch (error) {
      if (!isStopped) observer.failed(error);
    }
    if (!isStopped) timer = setTimeout(start, hasMore ? 0 : pauseMs).unref();
  };
  let underWay = Promise.resolve();
  const start = (): void => {
    underWay = round();
  };
  start();

  return async () => {
    isStopped = true;
    clearTimeout(timer);
    await underWay;
  };
}
