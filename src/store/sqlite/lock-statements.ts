import type Database from 'better-sqlite3';
import type { Lock } from '../../locks/lock.js';
import { LOCK_COLUMNS } from '../rows.js';
import { Batches, insertion, repeated, type Value } from './batches.js';
import { lockOfValues, toLockValues, type LockValues } from './lock-values.js';

/** Those that a claim changes, in that order. */
const [, ...CHANGED_COLUMNS] = LOCK_COLUMNS.split(', ');

/** What the writing connection says about locks, prepared once. */
export class LockStatements {
  readonly #read;
  readonly #insert;
  readonly #update;
  readonly #renew;
  readonly #delete;
  readonly #deleteExpired;

  constructor(db: Database.Database) {
    this.#read = db.prepare<[string], LockValues>(`SELECT ${LOCK_COLUMNS} FROM distributed_locks WHERE resource = ?`).raw();
    this.#insert = insertion(db, 'distributed_locks', LOCK_COLUMNS);
    this.#update = db.prepare(
      `UPDATE distributed_locks SET ${CHANGED_COLUMNS.map((column) => `${column} = ?`).join(', ')} WHERE resource = ?`,
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
      if (row !== undefined) rows.set(resource, lockOfValues(row));
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
      } else if (before === undefined) inserted.push(toLockValues(lock));
      else if (before.fencingToken !== lock.fencingToken) this.#update.run(...toLockValues(lock).slice(1), resource);
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
