import type { LockEvent } from './events.js';

/**
 * The state of one resource, as its row holds it. Moments are epoch milliseconds of the store's clock.
 */
export interface Lock {
  readonly resource: string;
  readonly owner: string;
  /** The revision of the ACQUIRED event that established this ownership. Rises over all resources, for ever. */
  readonly fencingToken: bigint;
  /** The revision of the last change of this lock. */
  readonly revision: bigint;
  /** When the present ownership was established; a renewal does not move it. */
  readonly acquiredAt: number;
  readonly expiresAt: number;
  /** The TTL it was acquired with: what a renewal that names none uses. */
  readonly ttlMs: number;
  /** The requestId of the acquire that established this ownership. */
  readonly requestId: string | null;
  /** Whether that acquire found the lock held by the same owner. */
  readonly reacquired: boolean;
  /** JSON text. */
  readonly metadata: string | null;
  /** Whether the EXPIRED event of this lock is in the log. */
  readonly expiryRecorded: boolean;
}

/** Expired means `now >= expiresAt`, everywhere: conditions in SQL say the same. */
export function isHeld(lock: Lock, now: number): boolean {
  return now < lock.expiresAt;
}

/** The lock, if it is held at that moment: an expired one reads as absent. */
export function heldLock(row: Lock | null, now: number): Lock | null {
  return row !== null && isHeld(row, now) ? row : null;
}

/** The lock as the ACQUIRED left it that was somebody's turn in line. */
export function lockOf(event: LockEvent, ttlMs: number): Lock {
  const { resource, owner, fencingToken, revision, acquiredAt, expiresAt, requestId, metadata } = event;
  return {
    resource,
    owner,
    fencingToken,
    revision,
    acquiredAt,
    expiresAt,
    ttlMs,
    requestId,
    reacquired: false,
    metadata,
    expiryRecorded: false,
  };
}
