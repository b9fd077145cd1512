import type { LockEvent, LockEventType } from '../locks/events.js';
import type { Lock } from '../locks/lock.js';

/** A row of distributed_locks, as either driver gives it: columns of 64 bits as bigint. */
export interface LockRow {
  resource: string;
  owner: string;
  fencing_token: bigint;
  revision: bigint;
  acquired_at: bigint;
  expires_at: bigint;
  ttl_ms: bigint | number;
  request_id: string | null;
  reacquired: bigint | boolean;
  metadata: string | null;
  expiry_recorded: bigint | boolean;
}

export const LOCK_COLUMNS =
  'resource, owner, fencing_token, revision, acquired_at, expires_at, ttl_ms, request_id, reacquired, metadata, expiry_recorded';

export function toLock(row: LockRow): Lock {
  return {
    resource: row.resource,
    owner: row.owner,
    fencingToken: row.fencing_token,
    revision: row.revision,
    acquiredAt: Number(row.acquired_at),
    expiresAt: Number(row.expires_at),
    ttlMs: Number(row.ttl_ms),
    requestId: row.request_id,
    reacquired: Boolean(row.reacquired),
    metadata: row.metadata,
    expiryRecorded: Boolean(row.expiry_recorded),
  };
}

/** A row of lock_events. */
export interface EventRow {
  revision: bigint;
  type: LockEventType;
  at: bigint;
  written_at: bigint;
  resource: string;
  owner: string;
  fencing_token: bigint;
  acquired_at: bigint;
  expires_at: bigint;
  request_id: string | null;
  metadata: string | null;
  /** Left out where it is not asked for. */
  waiter_id?: string | null;
}

export const EVENT_COLUMNS =
  'revision, type, at, written_at, resource, owner, fencing_token, acquired_at, expires_at, request_id, metadata';

export function toEvent(row: EventRow): LockEvent {
  return {
    revision: row.revision,
    type: row.type,
    at: Number(row.at),
    writtenAt: Number(row.written_at),
    resource: row.resource,
    owner: row.owner,
    fencingToken: row.fencing_token,
    acquiredAt: Number(row.acquired_at),
    expiresAt: Number(row.expires_at),
    requestId: row.request_id,
    metadata: row.metadata,
    waiterId: row.waiter_id ?? null,
  };
}

/** The row of lock_tickets. */
export interface TicketRow {
  last: bigint;
  waiting: bigint;
}

/** The row of lock_clock. */
export interface ClockRow {
  log_id: string;
  revision: bigint;
  oldest_revision: bigint;
  at: bigint;
}

export const CLOCK_COLUMNS = 'log_id, revision, oldest_revision, at';
