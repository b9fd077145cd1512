import type { LockEvent, LockEventType } from '../locks/events.js';
import type { Lock } from '../locks/lock.js';
import type { LockSelector } from '../store/lock-store.js';

/** What a watcher asks for. */
export interface WatchRequest {
  readonly selector: LockSelector;
  /** Which events to tell; null: all. Snapshots are not narrowed by it. */
  readonly types: ReadonlySet<LockEventType> | null;
  /** Replay from the revision after this one; null: begin now. */
  readonly after: bigint | null;
  /** The history that `after` comes from, where the watcher knows it. */
  readonly logId: string | null;
  /** Whether a watch without `after` begins with a snapshot; else it begins with a bookmark. */
  readonly snapshot: boolean;
}

export type SnapshotReason =
  /** The watch has begun. */
  | 'STARTED'
  /** The revisions after the one named are no longer kept: events were missed. */
  | 'GAP'
  /** The revision named belongs to another history, or lies in the future. */
  | 'RESET';

/** One part of what is held; the events from `revision` + 1 on follow the part that is `complete`. */
export interface Snapshot {
  readonly kind: 'snapshot';
  readonly logId: string;
  readonly revision: bigint;
  readonly reason: SnapshotReason;
  /** From 1 on. */
  readonly part: number;
  readonly complete: boolean;
  readonly locks: readonly Lock[];
}

export interface Change {
  readonly kind: 'event';
  readonly event: LockEvent;
}

/** Nothing that is watched has changed up to this revision. */
export interface Bookmark {
  readonly kind: 'bookmark';
  readonly logId: string;
  readonly revision: bigint;
}

export type WatchItem = Snapshot | Change | Bookmark;
