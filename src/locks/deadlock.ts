import type { Draft } from './draft.js';
import type { Lines } from './lines.js';
import type { Dependency } from './outcomes.js';
import type { Waiter } from './waiter.js';

/** A longer circle is not found: every owner more on the way is one more round of reading. */
export const MAX_CIRCLE = 32;

/** A search looks at so many owners, and at so many of the places where they wait; then it ends without a finding. */
export const MAX_LOOKED_AT = 1000;

/** An owner that waits, and what for. */
interface Step extends Dependency {
  /** Whoever waits for this owner; null: it is the caller. */
  readonly before: Step | null;
}

/**
 * The shortest circle that would close if this owner stood in line for these resources, beginning with it; null: none would. An
 * owner waits for whoever holds what it wants, and for those who are ahead of it in line; never for what it holds.
 *
 * @throws NotRead
 */
export function findCircle(owner: string, resources: readonly string[], lines: Lines, draft: Draft): readonly Dependency[] | null {
  const met = new Map<string, Step>();
  let steps = resources.map((resource): Step => ({ owner, resource, before: null }));
  let left = MAX_LOOKED_AT;
  for (let length = 1; length <= MAX_CIRCLE && steps.length > 0; length++) {
    steps = steps.slice(0, left);
    left -= steps.length;
    const known = met.size;
    const standing = lines.all(new Set(steps.map(({ resource }) => resource)));
    for (const step of steps) {
      for (const other of ownersBefore(step, standing.get(step.resource) ?? [], draft)) {
        if (other === owner) return circleOf(step);
        if (!met.has(other) && met.size < MAX_LOOKED_AT) met.set(other, step);
      }
    }
    steps = stepsOf(new Map([...met].slice(known)), lines);
  }
  return null;
}

/** Who holds the resource, and who is ahead of the owner in its line. */
function ownersBefore({ owner, resource }: Step, line: readonly Waiter[], draft: Draft): readonly string[] {
  const holder = draft.held(resource)?.owner;
  if (holder === owner) return [];
  const place = line.findIndex((waiter) => waiter.owner === owner);
  const ahead = line.slice(0, place < 0 ? line.length : place).map((waiter) => waiter.owner);
  return holder === undefined ? ahead : [holder, ...ahead];
}

/** All that these owners wait for, each once. */
function stepsOf(owners: ReadonlyMap<string, Step>, lines: Lines): Step[] {
  const steps = new Map<string, Step>();
  for (const { owner, resources } of lines.of(owners)) {
    for (const resource of resources) {
      steps.set(JSON.stringify([owner, resource]), { owner, resource, before: owners.get(owner) ?? null });
    }
  }
  return [...steps.values()];
}

function circleOf(last: Step): Dependency[] {
  const circle: Dependency[] = [];
  for (let step: Step | null = last; step !== null; step = step.before) {
    circle.unshift({ owner: step.owner, resource: step.resource });
  }
  return circle;
}
