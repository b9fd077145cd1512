import type { Lock } from '../../locks/lock.js';

/**
 * A lock as values in the order of LOCK_COLUMNS, as they are bound (numbers) and read (bigint). What there may be thousands of is never
 * an object, neither on its way from the database nor from thread to thread: the names of its fields would take twice as long.
 */
export type LockValues = [
  resource: string,
  owner: string,
  fencingToken: bigint,
  revision: bigint,
  acquiredAt: number | bigint,
  expiresAt: number | bigint,
  ttlMs: number | bigint,
  requestId: string | null,
  reacquired: number | bigint,
  metadata: string | null,
  expiryRecorded: number | bigint,
];

export function toLockValues(lock: Lock): LockValues {
  const { resource, owner, fencingToken, revision, acquiredAt, expiresAt, ttlMs, requestId, metadata } = lock;
  const [reacquired, expiryRecorded] = [lock.reacquired ? 1 : 0, lock.expiryRecorded ? 1 : 0];
  return [resource, owner, fencingToken, revision, acquiredAt, expiresAt, ttlMs, requestId, reacquired, metadata, expiryRecorded];
}

export function lockOfValues(values: LockValues): Lock {
  const [resource, owner, fencingToken, revision, acquiredAt, expiresAt, ttlMs, requestId, reacquired, metadata, recorded] = values;
  return {
    resource,
    owner,
    fencingToken,
    revision,
    acquiredAt: Number(acquiredAt),
    expiresAt: Number(expiresAt),
    ttlMs: Number(ttlMs),
    requestId,
    reacquired: Boolean(reacquired),
    metadata,
    expiryRecorded: Boolean(recorded),
  };
}
