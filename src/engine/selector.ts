import type { LockEvent } from '../locks/events.js';
import type { WatchRequest } from './watch.js';

/** Whether the watcher asked for that event. */
export function admits({ selector: { resource, prefix, owner }, types }: WatchRequest, event: LockEvent): boolean {
  return (
    (resource === null || event.resource === resource) &&
    (prefix === null || event.resource.startsWith(prefix)) &&
    (owner === null || event.owner === owner) &&
    (types === null || types.has(event.type))
  );
}
