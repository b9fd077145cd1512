import type { Message } from '../support/websocket-client.js';
import { EVENT, type EventView, type LockView } from './lock-api.js';

export interface WatchOptions {
  readonly filter?: object;
  readonly after?: string;
  readonly logId?: string;
  readonly snapshot?: boolean;
}

export interface SnapshotItem {
  readonly __typename: 'LockSnapshot';
  readonly revision: string;
  readonly reason: 'STARTED' | 'GAP' | 'RESET';
  readonly complete: boolean;
  readonly locks: readonly LockView[];
}

export interface BookmarkItem {
  readonly __typename: 'LockBookmark';
  readonly revision: string;
}

export type EventItem = EventView & { readonly __typename: 'LockEvent' };
export type Item = SnapshotItem | EventItem | BookmarkItem;

export const WATCH = `subscription ($filter: LockWatchFilter, $after: BigInt, $logId: ID, $snapshot: Boolean) {
  lockChanges(filter: $filter, after: $after, logId: $logId, snapshot: $snapshot) {
    __typename
    ... on LockSnapshot { revision reason complete locks { ...L } }
    ... on LockEvent { ...E }
    ... on LockBookmark { revision }
  }
} ${EVENT}`;

const DEFAULT_TIMEOUT_MS = 10_000;

/** Keeps everything that a subscription tells, in the order in which it came. */
export class Watch {
  readonly items: Item[] = [];
  /** Tells the server that nobody listens any more. */
  readonly stop: () => void;
  #ending: Error | null = null;
  #wakeUp: () => void = () => undefined;

  constructor(stop: () => void) {
    this.stop = stop;
  }

  get events(): EventItem[] {
    return this.items.filter((item) => item.__typename === 'LockEvent');
  }

  /** Takes a message of its operation; null: the socket has closed. */
  receive(message: Message | null): void {
    if (message?.type === 'next') {
      const { data, errors } = message.payload as { data?: { lockChanges: Item } | null; errors?: unknown };
      if (data == null) this.#ending = new Error(`The watch failed: ${JSON.stringify(errors)}`);
      else this.items.push(data.lockChanges);
    } else {
      this.#ending = new Error(`The watch ended with ${JSON.stringify(message)}`);
    }
    this.#wakeUp();
  }

  /** Waits until what has come is enough. One caller at a time. */
  async until(isEnough: (items: readonly Item[]) => boolean, timeoutMs = DEFAULT_TIMEOUT_MS): Promise<void> {
    const late = setTimeout(() => {
      this.#ending ??= new Error(
        `Not enough in ${timeoutMs} ms: ${JSON.stringify(this.items.slice(-5))} after ${this.items.length} items`,
      );
      this.#wakeUp();
    }, timeoutMs);
    try {
      while (!isEnough(this.items)) {
        if (this.#ending !== null) throw this.#ending;
        await new Promise<void>((resolve) => (this.#wakeUp = resolve));
      }
    } finally {
      clearTimeout(late);
    }
  }

  /** Waits until it has been told everything up to that revision. */
  async reach(revision: string, timeoutMs?: number): Promise<void> {
    await this.until((items) => items.some((item) => BigInt(item.revision) >= BigInt(revision)), timeoutMs);
  }
}
