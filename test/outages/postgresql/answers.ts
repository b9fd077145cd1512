import type { Command } from '../../../src/locks/commands.js';
import type { Outcome } from '../../../src/locks/outcomes.js';
import { StoreUnavailable, type LockStore } from '../../../src/store/lock-store.js';

/** In a word that tests can compare. */
export type Answer = Outcome['kind'] | 'unavailable, not applied' | 'unavailable, perhaps applied';

export interface TimedAnswer {
  readonly answer: Answer;
  readonly afterMs: number;
}

/** How the first command of a group was answered. Any other error than that the database did not answer is thrown. */
export async function answerTo(store: LockStore, ...group: readonly Command[]): Promise<TimedAnswer> {
  const startedAt = performance.now();
  const answer = await store.commit(group).then(({ outcomes }) => outcomes[0]!.kind, nameOf);
  return { answer, afterMs: performance.now() - startedAt };
}

function nameOf(error: unknown): Answer {
  if (!(error instanceof StoreUnavailable)) throw error;
  return error.applied === false ? 'unavailable, not applied' : 'unavailable, perhaps applied';
}
