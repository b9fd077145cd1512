import type { Lock } from '../locks/lock.js';
import type { Conflict, Dependency, Forbidden, NotFound } from '../locks/outcomes.js';

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

function explainConflict(resource: string, { reason, current, circle = [] }: Conflict): string {
  switch (reason) {
    case 'HELD_BY_ANOTHER':
      return current === null
        ? `${resource} is kept for those who stand in line for it: stand in line with waitMs, or try again later.`
        : `${resource} ${heldBy(current)}: try again when it is released or has expired, or stand in line with waitMs.`;
    case 'HELD_BY_SELF':
      return `${resource} ${heldBy(current)}, which is you: leave out reacquire: false to take it again under a new token.`;
    case 'EXPIRED':
      return `${resource} had expired before the renewal came: stop what it protected, and acquire it anew.`;
    case 'STALE_TOKEN':
      return `${resource} ${heldBy(current)}, under the token ${current?.fencingToken}: the token given is of another acquisition.`;
    case 'REQUEST_SPENT':
      return `This requestId has acquired ${resource} before, and that acquisition has ended: use a new one for a new acquisition.`;
    case 'WAIT_TIMEOUT':
      return `${resource} ${current === null ? 'is kept for others in line' : heldBy(current)}: waitMs has passed.`;
    case 'DEADLOCK':
      return `To wait for ${resource} would close a circle, in which nobody gets on: ${describeCircle(circle)}.`;
  }
}

function heldBy(current: Lock | null): string {
  if (current === null) return 'is held';
  return `is held by ${JSON.stringify(current.owner)} until ${new Date(current.expiresAt).toISOString()}`;
}

function describeCircle(circle: readonly Dependency[]): string {
  return circle
    .map(({ owner, resource }, index) => {
      const next = circle[(index + 1) % circle.length]?.owner;
      return `${JSON.stringify(owner)} would wait for ${JSON.stringify(resource)}, which ${JSON.stringify(next)} holds or gets first`;
    })
    .join('; ');
}
