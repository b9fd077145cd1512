import type { Logger } from './logger.js';

/** An outage fails every group: one line for all of them in that time says enough. */
const QUIET_MS = 1_000;

/** Logs failures of the engine: the first at once, then at most one line a second, which says how many there were. */
export function createFailureLog(logger: Logger): (error: unknown) => void {
  let quietUntil = 0;
  let failures = 0;
  return (error) => {
    failures += 1;
    const now = performance.now();
    if (now < quietUntil) return;
    logger.error({ err: error, failures }, 'the engine could not do its work');
    quietUntil = now + QUIET_MS;
    failures = 0;
  };
}
