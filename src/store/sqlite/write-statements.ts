import type Database from 'better-sqlite3';

import type { LockEvent } from '../../locks/events.js';
import type { Lock } from '../../locks/lock.js';
import type { RememberedAcquisition } from '../../locks/retries.js';
import { SEGMENT_REVISIONS, segmentOf } from '../log-segments.js';
import { LineStatements } from './line-statements.js';
import type { RetriedRelease } from '../retry-lookups.js';
import {
  CLOCK_COLUMNS,
  EVENT_COLUMNS,
  toEvent,
  LOCK_COLUMNS,
  toLock,
  type ClockRow,
  type EventRow,
  type LockRow,
} from '../rows.js';

/** Above every segment. */
const MAX_SEGMENT = 2n ** 62n;

/** Everything that the writing connection says to the database, prepared once. */
export class WriteStatements {
  readonly begin;
  readonly commit;
  readonly rollback;
  readonly lines;
  readonly #readClock;
  readonly #advanceClock;
  readonly #lock;
  readonly #insertLock;
  readonly #updateLock;
  readonly #renewLock;
  readonly #deleteLock;
  readonly #insertEvent;
  readonly #acquisition;
  readonly #acquiredResource;
  readonly #firstToken;
  readonly #lastOfToken;
  readonly #firstWritten;
  readonly #segmentBefore;
  readonly #oldestEvents;
  readonly #deleteEvents;
  readonly #setOldest;
  readonly #deleteExpired;

  constructor(db: Database.Database) {
    this.begin = db.prepare('BEGIN IMMEDIATE');
    this.commit = db.prepare('COMMIT');
    this.rollback = db.prepare('ROLLBACK');
    this.lines = new LineStatements(db);
    this.#readClock = db.prepare<[], ClockRow>(`SELECT ${CLOCK_COLUMNS} FROM lock_clock WHERE id = 1`);
    this.#advanceClock = db.prepare('UPDATE lock_clock SET revision = ?, at = ? WHERE id = 1');
    this.#lock = db.prepare<[string], LockRow>(`SELECT ${LOCK_COLUMNS} FROM distributed_locks WHERE resource = ?`);
    this.#insertLock = db.prepare(`INSERT INTO distributed_locks (${LOCK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#updateLock = db.prepare(
      `UPDATE distributed_locks SET owner = ?, fencing_token = ?, revision = ?, acquired_at = ?, expires_at = ?, ttl_ms = ?,
         request_id = ?, reacquired = ?, metadata = ?, expiry_recorded = ? WHERE resource = ?`,
    );
    // A renewal or an expiry: leaves the index on the owner alone.
    this.#renewLock = db.prepare(
      'UPDATE distributed_locks SET revision = ?, expires_at = ?, expiry_recorded = ? WHERE resource = ?',
    );
    this.#deleteLock = db.prepare('DELETE FROM distributed_locks WHERE resource = ?');
    this.#insertEvent = db.prepare(
      `INSERT INTO lock_events (segment, ${EVENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#acquisition = db.prepare<[string, string, string, number], EventRow>(
      `SELECT ${EVENT_COLUMNS} FROM lock_events
       WHERE request_id = ? AND resource = ? AND owner = ? AND type = 'ACQUIRED' AND written_at >= ? ORDER BY revision DESC LIMIT 1`,
    );
    this.#acquiredResource = db
      .prepare<[bigint], string>(`SELECT resource FROM lock_events WHERE revision = ? AND type = 'ACQUIRED'`)
      .pluck();
    this.#firstToken = db
      .prepare<[bigint, string], bigint>(
        'SELECT fencing_token FROM lock_events WHERE segment = ? AND resource = ? ORDER BY revision LIMIT 1',
      )
      .pluck();
    this.#lastOfToken = db.prepare<[bigint, string, bigint], EventRow>(
      `SELECT ${EVENT_COLUMNS} FROM lock_events
       WHERE segment = ? AND resource = ? AND fencing_token = ? ORDER BY revision DESC LIMIT 1`,
    );
    this.#firstWritten = db
      .prepare<[bigint], bigint>('SELECT written_at FROM lock_events WHERE revision >= ? ORDER BY revision LIMIT 1')
      .pluck();
    this.#segmentBefore = db.prepare<[bigint], bigint | null>('SELECT max(segment) FROM lock_events WHERE segment < ?').pluck();
    this.#oldestEvents = db.prepare<[number], Pick<EventRow, 'revision' | 'written_at'>>(
      'SELECT revision, written_at FROM lock_events ORDER BY revision LIMIT ?',
    );
    this.#deleteEvents = db.prepare('DELETE FROM lock_events WHERE revision <= ?');
    this.#setOldest = db.prepare('UPDATE lock_clock SET oldest_revision = max(oldest_revision, ?) WHERE id = 1');
    this.#deleteExpired = db.prepare(
      `DELETE FROM distributed_locks WHERE id IN
         (SELECT id FROM distributed_locks WHERE expiry_recorded = 1 AND expires_at <= ? ORDER BY expires_at LIMIT ?)`,
    );
  }

  readClock(): ClockRow {
    const clock = this.#readClock.get();
    if (clock === undefined) throw new Error('lock_clock has no row');
    return clock;
  }

  advanceClock(revision: bigint, at: number): void {
    this.#advanceClock.run(revision, at);
  }

  lock(resource: string): Lock | null {
    const row = this.#lock.get(resource);
    return row === undefined ? null : toLock(row);
  }

  /** Makes the stored row (null: there is none) what it is to be (null: gone), in place. */
  replaceLock(resource: string, stored: Lock | null, lock: Lock | null): void {
    if (lock === null) {
      if (stored !== null) this.#deleteLock.run(resource);
      return;
    }
    const { owner, fencingToken, revision, acquiredAt, expiresAt, ttlMs, requestId, metadata } = lock;
    const expiryRecorded = lock.expiryRecorded ? 1 : 0;
    if (stored?.fencingToken === fencingToken) {
      this.#renewLock.run(revision, expiresAt, expiryRecorded, resource);
      return;
    }
    const rest = [
      owner,
      fencingToken,
      revision,
      acquiredAt,
      expiresAt,
      ttlMs,
      requestId,
      lock.reacquired ? 1 : 0,
      metadata,
      expiryRecorded,
    ];
    if (stored === null) this.#insertLock.run(resource, ...rest);
    else this.#updateLock.run(...rest, resource);
  }

  appendEvent(event: LockEvent): void {
    const { revision, type, at, writtenAt, resource, owner, fencingToken, acquiredAt, expiresAt, requestId, metadata } = event;
    this.#insertEvent.run(
      ...[
        segmentOf(revision),
        revision,
        type,
        at,
        writtenAt,
        resource,
        owner,
        fencingToken,
        acquiredAt,
        expiresAt,
        requestId,
        metadata,
      ],
    );
    if (event.waiterId !== null) this.lines.recordGrant(revision, event.waiterId);
  }

  /** The ACQUIRED event of that request, if it was written at that moment or later. */
  acquisition({ requestId, resource, owner }: RememberedAcquisition, writtenSince: number): LockEvent | null {
    const row = this.#acquisition.get(requestId, resource, owner, writtenSince);
    return row === undefined ? null : toEvent(row);
  }

  /**
   * The last event of the resource that bears the token, if it was written at that moment or later. Where the acquisition was
   * released, that is its RELEASED.
   */
  lastEventOfToken({ resource, fencingToken }: RetriedRelease, writtenSince: number): LockEvent | null {
    // A later token than the oldest revision is that of an ACQUIRED in the log, or of none.
    const isGone = fencingToken <= this.readClock().oldest_revision;
    if (!isGone && this.#acquiredResource.get(fencingToken) !== resource) return null;
    // The newest segment first, until one in which the resource begins with that token or an earlier one, as tokens rise. None
    // before that of the token's own ACQUIRED can have one.
    for (let above = MAX_SEGMENT; ;) {
      const segment = this.#segmentBefore.get(above) ?? null;
      if (segment === null || segment < segmentOf(fencingToken)) return null;
      const firstToken = this.#firstToken.get(segment, resource);
      if (firstToken !== undefined && firstToken <= fencingToken) {
        const row = this.#lastOfToken.get(segment, resource, fencingToken);
        return row !== undefined && Number(row.written_at) >= writtenSince ? toEvent(row) : null;
      }
      // What the segments below hold is older than this one's beginning.
      if (Number(this.#firstWritten.get(segment * SEGMENT_REVISIONS)) < writtenSince) return null;
      above = segment;
    }
  }

  oldestEvents(limit: number): { revision: bigint; writtenAt: number }[] {
    return this.#oldestEvents.all(limit).map((row) => ({ revision: row.revision, writtenAt: Number(row.written_at) }));
  }

  /** Removes these events and says that they are gone; returns how many. */
  deleteEventsUpTo(revision: bigint): number {
    this.#setOldest.run(revision);
    this.lines.deleteGrantsUpTo(revision);
    return this.#deleteEvents.run(revision).changes;
  }

  /** Removes rows whose expiry is recorded and was at that moment or before; returns how many. */
  deleteExpiredLocks(expiredUntil: number, limit: number): number {
    return this.#deleteExpired.run(expiredUntil, limit).changes;
  }
}
