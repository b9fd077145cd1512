import type { AcquireCommand, ReleaseCommand, RenewCommand } from './commands.js';
import type { LockEvent, LockEventType } from './events.js';
import { heldLock, isHeld, type Lock } from './lock.js';
import type { Acquired, AcquireOutcome, Conflict, ConflictReason, Outcome, ReleaseOutcome, RenewOutcome } from './outcomes.js';
import type { RetryMemory } from './retries.js';

/** What one command makes of one resource. `event` is null where nothing changes; then `row` is the row it was given. */
export interface Decision<O extends Outcome = Outcome> {
  readonly outcome: O;
  readonly row: Lock | null;
  readonly event: LockEvent | null;
}

/** When a decision is made, and the revision its event gets, if it has one. */
export interface Moment {
  readonly now: number;
  readonly revision: bigint;
}

// The rules of the lock, each as one pure function of the row (null: there is none), what is asked for and the moment. A passed
// expiry must have been settled before.

/**
 * Records a passed expiry that is not recorded yet. The row stays, so that a later claim updates it in place; its
 * EXPIRED happened at the lock's own `expiresAt`, however late it is written.
 */
export function settle(row: Lock | null, { now, revision }: Moment): { row: Lock; event: LockEvent } | null {
  if (row === null || row.expiryRecorded || isHeld(row, now)) return null;
  const expired = { ...row, revision, expiryRecorded: true };
  return { row: expired, event: { ...eventOf('EXPIRED', expired, now), at: row.expiresAt } };
}

/** What an acquire asks for, whether or not it would stand in line for it. */
export type Acquisition = Pick<AcquireCommand, 'resource' | 'owner' | 'ttlMs' | 'requestId' | 'reacquire' | 'metadata'>;

/** Decides an acquire of a resource for which nobody stands in line. */
export function acquire(row: Lock | null, command: Acquisition, retries: RetryMemory, moment: Moment): Decision<AcquireOutcome> {
  const { resource, owner, requestId } = command;
  const current = heldLock(row, moment.now);
  if (requestId !== null) {
    if (current?.owner === owner && current.requestId === requestId) {
      return unchanged(row, { kind: 'acquired', lock: current, reacquired: current.reacquired });
    }
    if (retries.hasAcquired({ resource, owner, requestId })) {
      return unchanged(row, conflict(resource, 'REQUEST_SPENT', current));
    }
  }
  if (current !== null && current.owner !== owner) return unchanged(row, conflict(resource, 'HELD_BY_ANOTHER', current));
  if (current !== null && !command.reacquire) return unchanged(row, conflict(resource, 'HELD_BY_SELF', current));

  return take(row, command, moment);
}

interface Grant extends Decision<Acquired> {
  readonly event: LockEvent;
}

/** Gives the lock to whoever asks, whose turn it is. */
export function take(
  row: Lock | null,
  { resource, owner, ttlMs, requestId, metadata }: Omit<Acquisition, 'reacquire'>,
  moment: Moment,
): Grant {
  const reacquired = heldLock(row, moment.now) !== null;
  const lock: Lock = {
    resource,
    owner,
    fencingToken: moment.revision,
    revision: moment.revision,
    acquiredAt: moment.now,
    expiresAt: moment.now + ttlMs,
    ttlMs,
    requestId,
    reacquired,
    metadata,
    expiryRecorded: false,
  };
  return { outcome: { kind: 'acquired', lock, reacquired }, row: lock, event: eventOf('ACQUIRED', lock, moment.now) };
}

export type Release = Omit<ReleaseCommand, 'kind'>;

export function release(row: Lock | null, command: Release, retries: RetryMemory, moment: Moment): Decision<ReleaseOutcome> {
  const { resource, owner, fencingToken } = command;
  if (fencingToken !== null) {
    const earlier = retries.releaseOf(resource, owner, fencingToken);
    if (earlier !== null) {
      const { releasedAt, revision } = earlier;
      return unchanged(row, { kind: 'released', resource, fencingToken, releasedAt, revision });
    }
  }
  const current = heldLock(row, moment.now);
  if (current === null) return unchanged(row, { kind: 'not-found', resource });
  if (current.owner !== owner) return unchanged(row, { kind: 'forbidden', resource, current });
  if (isStale(current, fencingToken)) return unchanged(row, conflict(resource, 'STALE_TOKEN', current));

  const { now: releasedAt, revision } = moment;
  return {
    outcome: { kind: 'released', resource, fencingToken: current.fencingToken, releasedAt, revision },
    row: null,
    event: eventOf('RELEASED', { ...current, revision }, releasedAt),
  };
}

export function renew(row: Lock | null, command: Omit<RenewCommand, 'kind'>, { now, revision }: Moment): Decision<RenewOutcome> {
  const { resource, owner, fencingToken } = command;
  if (row === null) return unchanged(row, { kind: 'not-found', resource });
  if (!isHeld(row, now)) return unchanged(row, conflict(resource, 'EXPIRED', null));
  if (row.owner !== owner) return unchanged(row, conflict(resource, 'HELD_BY_ANOTHER', row));
  if (isStale(row, fencingToken)) return unchanged(row, conflict(resource, 'STALE_TOKEN', row));

  // A renewal that arrives late must not cut short what a newer one was promised.
  const expiresAt = Math.max(row.expiresAt, now + (command.ttlMs ?? row.ttlMs));
  const lock = { ...row, revision, expiresAt };
  return { outcome: { kind: 'renewed', lock }, row: lock, event: eventOf('RENEWED', lock, now) };
}

function isStale(lock: Lock, fencingToken: bigint | null): boolean {
  return fencingToken !== null && fencingToken !== lock.fencingToken;
}

export function conflict(resource: string, reason: ConflictReason, current: Lock | null): Conflict {
  return { kind: 'conflict', resource, reason, current };
}

function unchanged<O extends Outcome>(row: Lock | null, outcome: O): Decision<O> {
  return { outcome, row, event: null };
}

function eventOf(type: LockEventType, lock: Lock, now: number): LockEvent {
  const { revision, resource, owner, fencingToken, acquiredAt, expiresAt, requestId, metadata } = lock;
  return {
    revision,
    type,
    at: now,
    writtenAt: now,
    resource,
    owner,
    fencingToken,
    acquiredAt,
    expiresAt,
    requestId,
    metadata,
    waiterId: null,
  };
}
