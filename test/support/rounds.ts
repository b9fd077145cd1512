/** What a test repeats in `npm test`, at the most: chance has its say in `npm run soak`. */
const QUICK_ROUNDS = 20;
const SOAK_TIMEOUT_MS = 3_600_000;

export const isSoak = process.env['HOLDFAST_SOAK'] === 'true';

/** How often a test repeats what depends on chance: in full only when it soaks, else at most `quick` times. */
export function rounds(full: number, quick = QUICK_ROUNDS): number {
  return isSoak ? full : Math.min(full, quick);
}

/** The time that a test may take; one that soaks may take as long as it needs. */
export function timeLimit(ms: number): number {
  return isSoak ? SOAK_TIMEOUT_MS : ms;
}
