import type { Call, Change, Span, Violation } from './history.js';
import type { Doers } from './doers.js';
import type { Truth } from './truth.js';

/** A call that takes effect at one moment of its span. */
interface Operation extends Span {
  readonly call: Call;
  /** The place of the change that it made; null: it only looked. */
  readonly place: number | null;
}

/**
 * Puts the calls of one resource into one order in which every answer is true and no call comes before one that had been
 * answered when it was sent: null if there is such an order, else what stands in its way.
 *
 * The log fixes the order of the changes. What only looks is put in as soon as its answer is true and nothing has to come
 * before it. That is never a mistake: it changes nothing, so in any right order it could be moved forward to there. So there
 * is nothing to search, and the first dead end proves that no order exists.
 */
export function linearize(calls: readonly Call[], changes: readonly Change[], doers: Doers, truth: Truth): Violation | null {
  const queue = operationsOf(calls, changes, doers).sort((one, other) => one.from - other.from);
  const waiting = new Set<Operation>();
  let place = 0;
  let next = 0;
  for (;;) {
    // Whatever was sent before the first answer that is still to be placed may be the next; nothing else may.
    let deadline = Math.min(Infinity, ...[...waiting].map(({ to }) => to));
    for (let candidate = queue[next]; candidate !== undefined && candidate.from <= deadline; candidate = queue[++next]) {
      waiting.add(candidate);
      deadline = Math.min(deadline, candidate.to);
    }
    if (waiting.size === 0) return null;

    let isPlaced = false;
    let change: Operation | null = null;
    for (const operation of waiting) {
      if (operation.place === place + 1) change = operation;
      if (operation.place === null && truth.isTrueAt(place, operation.call)) {
        waiting.delete(operation);
        isPlaced = true;
      }
    }
    if (isPlaced) continue;
    // Nobody waits for an expiry, or for what the service does by itself; that it was not too early is seen by the answers that tell of it.
    const coming = changes[place];
    if (change === null && !(coming !== undefined && (coming.type === 'EXPIRED' || doers.unasked.has(coming.revision))))
      return deadEnd(waiting, changes, place);
    if (change !== null) waiting.delete(change);
    place++;
  }
}

function operationsOf(calls: readonly Call[], changes: readonly Change[], { byRevision }: Doers): Operation[] {
  const making = new Set(byRevision.values());
  const looking = calls.filter((call) => call.told.kind !== 'unknown' && call.told.kind !== 'not-done' && !making.has(call));
  return [
    ...looking.map((call) => ({ ...call.span, call, place: null })),
    ...changes.flatMap(({ revision }, index) => {
      const call = byRevision.get(revision);
      return call === undefined ? [] : [{ ...call.span, call, place: index + 1 }];
    }),
  ];
}

/** What was answered before anything else that waits was, and so has to come next, and can't. */
function deadEnd(waiting: ReadonlySet<Operation>, changes: readonly Change[], place: number): Violation {
  const first = [...waiting].reduce((one, other) => (other.to < one.to ? other : one));
  const { call } = first;
  const change = changes[place - 1];
  const problem =
    first.place === null
      ? 'an answer that was true at no moment of its call'
      : 'a change that was made before one that the log tells earlier';
  return { problem, resource: call.question.resource, call, ...(change !== undefined && { change }) };
}
