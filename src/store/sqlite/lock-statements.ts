import type Database from 'better-sqlite3';
import type { Lock } from '../../locks/lock.js';
import { LOCK_COLUMNS } from '../rows.js';
import { Batches, insertion, repeated, type Value } from './batches.js';

/** The columns of a row in their order: a row that comes as an object takes twice as long. */
type StoredLock = [
  resource: string,
  owner: string,
  fencingToken: bigint,
  revision: bigint,
  acquiredAt: bigint,
  expiresAt: bigint,
  ttlMs: bigint,
  requestId: string | null,
  reacquired: bigint,
  metadata: string | null,
  expiryRecorded: bigint,
];

/** What the writing connection says about locks, prepared once. */
export class LockStatements {
  readonly #read;
  readonly #insert;
  readonly #update;
  readonly #renew;
  readonly #delete;
  readonly #deleteExpired;

  constructor(db: Database.Database) {
    this.#read = db.prepare<[string], StoredLock>(`SELECT ${LOCK_COLUMNS} FROM distributed_locks WHERE resource = ?`).raw();
    this.#insert = insertion(db, 'distributed_locks', LOCK_COLUMNS);
    this.#update = db.prepare(
      `UPDATE distributed_locks SET owner = ?, fencing_token = ?, revision = ?, acquired_at = ?, expires_at = ?, ttl_ms = ?,
         request_id = ?, reacquired = ?, metadata = ?, expiry_recorded = ? WHERE resource = ?`,
    );
    // A renewal or an expiry: leaves the index on the owner alone.
    this.#renew = db.prepare('UPDATE distributed_locks SET revision = ?, expires_at = ?, expiry_recorded = ? WHERE resource = ?');
    this.#delete = new Batches(db, (rows) => `DELETE FROM distributed_locks WHERE resource IN (${repeated('?', rows)})`);
    this.#deleteExpired = db.prepare(
      `DELETE FROM distributed_locks WHERE id IN
         (SELECT id FROM distributed_locks WHERE expiry_recorded = 1 AND expires_at <= ? ORDER BY expires_at LIMIT ?)`,
    );
  }

  /** Those of the rows that there are. */
  read(resources: readonly string[]): Map<string, Lock> {
    const rows = new Map<string, Lock>();
    for (const resource of resources) {
      const row = this.#read.get(resource);
      if (row !== undefined) rows.set(resource, lockOfRow(row));
    }
    return rows;
  }

  /** Makes the stored rows what they are to be (null: gone), in place where there is one. */
  change(stored: ReadonlyMap<string, Lock>, changed: ReadonlyMap<string, Lock | null>): void {
    const inserted: Value[][] = [];
    const deleted: Value[][] = [];
    for (const [resource, lock] of changed) {
      const before = stored.get(resource);
      if (lock === null) {
        if (before !== undefined) deleted.push([resource]);
      } else if (before === undefined) inserted.push([resource, ...valuesOf(lock)]);
      else if (before.fencingToken !== lock.fencingToken) this.#update.run(...valuesOf(lock), resource);
      else this.#renew.run(lock.revision, lock.expiresAt, lock.expiryRecorded ? 1 : 0, resource);
    }
    this.#delete.run(deleted);
    this.#insert.run(inserted);
  }

  /** Removes rows whose expiry is recorded and was at that moment or before; returns how many. */
  deleteExpired(expiredUntil: number, limit: number): number {
    return this.#deleteExpired.run(expiredUntil, limit).changes;
  }
}

function lockOfRow(row: StoredLock): Lock {
  const [resource, owner, fencingToken, revision, acquiredAt, expiresAt, ttlMs, requestId, reacquired, metadata, recorded] = row;
  return {
    resource,
    owner,
    fencingToken,
    revision,
    acquiredAt: Number(acquiredAt),
    expiresAt: Number(expiresAt),
    ttlMs: Number(ttlMs),
    requestId,
    reacquired: reacquired !== 0n,
    metadata,
    expiryRecorded: recorded !== 0n,
  };
}

/** All but the resource. */
function valuesOf(lock: Lock): Value[] {
  const { owner, fencingToken, revision, acquiredAt, expiresAt, ttlMs, requestId, metadata } = lock;
  const [reacquired, expiryRecorded] = [lock.reacquired ? 1 : 0, lock.expiryRecorded ? 1 : 0];
  return [owner, fencingToken, revision, acquiredAt, expiresAt, ttlMs, requestId, reacquired, metadata, expiryRecorded];
}
