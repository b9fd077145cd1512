import type { Lock } from '../locks/lock.js';
import type { Conflict, Forbidden, NotFound } from '../locks/outcomes.js';

/** The outcomes in which nothing was done. */
export type Refusal = NotFound | Forbidden | Conflict;

/** Says what stands in the way, with the facts, and what to do about it. */
export function explain(refusal: Refusal): string {
  const resource = JSON.stringify(refusal.resource);
  switch (refusal.kind) {
    case 'not-found':
      return `Nothing is held under ${resource}: it was never taken, was released, or has expired.`;
    case 'forbidden':
      return `${resource} ${heldBy(refusal.current)}: only its owner can release it.`;
    case 'conflict':
      return explainConflict(resource, refusal);
  }
}

function explainConflict(resource: string, { reason, current }: Conflict): string {
  switch (reason) {
    case 'HELD_BY_ANOTHER':
      return `${resource} ${heldBy(current)}: try again when it is released or has expired.`;
    case 'HELD_BY_SELF':
      return `${resource} ${heldBy(current)}, which is you: leave out reacquire: false to take it again under a new token.`;
    case 'EXPIRED':
      return `${resource} had expired before the renewal came: stop what it protected, and acquire it anew.`;
    case 'STALE_TOKEN':
      return `${resource} ${heldBy(current)}, under the token ${current?.fencingToken}: the token given is of another acquisition.`;
    case 'REQUEST_SPENT':
      return `This requestId has acquired ${resource} before, and that acquisition has ended: use a new one for a new acquisition.`;
  }
}

function heldBy(current: Lock | null): string {
  if (current === null) return 'is held';
  return `is held by ${JSON.stringify(current.owner)} until ${new Date(current.expiresAt).toISOString()}`;
}
