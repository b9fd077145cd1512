import type { LockEvent } from '../../locks/events.js';
import type { Lock } from '../../locks/lock.js';
import type { DistributedLock, LockEvent as LoggedEvent } from '../generated/sqlite/client.js';

/** What a `Lock` of the API is made from: a row as Prisma reads it, without the columns that no field shows. */
export type LockRecord = Pick<
  DistributedLock,
  'resource' | 'owner' | 'fencingToken' | 'revision' | 'acquiredAt' | 'expiresAt' | 'metadata'
>;

/** What a `LockEvent` of the API is made from. */
export type EventRecord = Pick<
  LoggedEvent,
  'revision' | 'type' | 'at' | 'resource' | 'owner' | 'fencingToken' | 'acquiredAt' | 'expiresAt' | 'metadata'
>;

export function toLockRecord(lock: Lock): LockRecord {
  const { resource, owner, fencingToken, revision, metadata } = lock;
  return {
    resource,
    owner,
    fencingToken,
    revision,
    acquiredAt: BigInt(lock.acquiredAt),
    expiresAt: BigInt(lock.expiresAt),
    metadata,
  };
}

export function toEventRecord(event: LockEvent): EventRecord {
  const { revision, type, resource, owner, fencingToken, metadata } = event;
  return {
    revision,
    type,
    at: BigInt(event.at),
    resource,
    owner,
    fencingToken,
    acquiredAt: BigInt(event.acquiredAt),
    expiresAt: BigInt(event.expiresAt),
    metadata,
  };
}

/** The lock as the event left it; null where the event ended it. */
export function lockLeftBy(event: EventRecord): LockRecord | null {
  if (event.type === 'RELEASED' || event.type === 'EXPIRED') return null;
  const { resource, owner, fencingToken, revision, acquiredAt, expiresAt, metadata } = event;
  return { resource, owner, fencingToken, revision, acquiredAt, expiresAt, metadata };
}
