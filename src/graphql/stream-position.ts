import type { WatchItem } from '../engine/watch.js';

/** What a transport that has a way of its own to resume a watch, and the watch, tell each other; one for each operation. */
export interface StreamPosition {
  /** The `Last-Event-ID` of a client that resumes a stream of server-sent events; null: it sent none. */
  readonly lastEventId: string | null;
  /** The revision to which the item told last brings its reader; null: to none that could be resumed from. */
  revision: bigint | null;
}

/** The same watch, which tells with each item where it is. Not the resolvers do: several watches may share their answers. */
export function tellPositions(watch: AsyncIterableIterator<WatchItem>, position: StreamPosition): AsyncIterableIterator<WatchItem> {
  const told: AsyncIterableIterator<WatchItem> = {
    async next() {
      const item = await watch.next();
      if (item.done !== true) position.revision = positionAfter(item.value);
      return item;
    },
    async return() {
      await watch.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => told,
  };
  return told;
}

/** Everything up to there has been told. null: with the item alone a reader knows too little to go on from anywhere. */
function positionAfter(item: WatchItem): bigint | null {
  switch (item.kind) {
    case 'event':
      return item.event.revision;
    case 'bookmark':
      return item.revision;
    case 'snapshot':
      return item.complete ? item.revision : null;
  }
}
