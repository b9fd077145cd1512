import type { LockEvent } from '../../src/locks/events.js';

/** The event in a line, for lists that are read at a glance. */
export function brief({ type, resource, owner, waiterId }: LockEvent): string {
  return `${type} ${resource} ${owner}${waiterId === null ? '' : ` for ${waiterId}`}`;
}
