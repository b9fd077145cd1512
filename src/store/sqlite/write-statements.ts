import type Database from 'better-sqlite3';

import type { LockEvent } from '../../locks/events.js';
import type { RememberedAcquisition } from '../../locks/retries.js';
import type { LogHead } from '../lock-store.js';
import { SEGMENT_REVISIONS, segmentOf } from '../log-segments.js';
import type { RetriedRelease } from '../retry-lookups.js';
import { EVENT_COLUMNS, toEvent, type EventRow } from '../rows.js';
import { insertion, type Value } from './batches.js';
import { LineStatements } from './line-statements.js';
import { LockStatements } from './lock-statements.js';

/** Above every segment. */
const MAX_SEGMENT = 2n ** 62n;

/** Where the log and the lines stand. */
interface Head extends LogHead {
  /** The newest moment ever written. */
  readonly at: number;
  /** The last one that was given out. */
  readonly ticket: bigint;
  /** Whether anybody stands in line anywhere. */
  readonly isWaitedFor: boolean;
}

/** Everything that the writing connection says to the database, prepared once. */
export class WriteStatements {
  readonly begin;
  readonly commit;
  readonly rollback;
  readonly locks;
  readonly lines;
  readonly #readHead;
  readonly #advanceClock;
  readonly #insertEvents;
  readonly #acquisition;
  readonly #acquiredResource;
  readonly #firstToken;
  readonly #lastOfToken;
  readonly #firstWritten;
  readonly #segmentBefore;
  readonly #oldestEvents;
  readonly #deleteEvents;
  readonly #setOldest;

  constructor(db: Database.Database) {
    this.begin = db.prepare('BEGIN IMMEDIATE');
    this.commit = db.prepare('COMMIT');
    this.rollback = db.prepare('ROLLBACK');
    this.locks = new LockStatements(db);
    this.lines = new LineStatements(db);
    this.#readHead = db
      .prepare<[], [string, bigint, bigint, bigint, bigint, bigint]>(
        `SELECT log_id, revision, oldest_revision, at, last, waiting FROM lock_clock, lock_tickets
         WHERE lock_clock.id = 1 AND lock_tickets.id = 1`,
      )
      .raw();
    this.#advanceClock = db.prepare('UPDATE lock_clock SET revision = ?, at = ? WHERE id = 1');
    this.#insertEvents = insertion(db, 'lock_events', `segment, ${EVENT_COLUMNS}`);
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
  }

  head(): Head {
    const row = this.#readHead.get();
    if (row === undefined) throw new Error('lock_clock or lock_tickets has no row');
    const [logId, revision, oldestRevision, at, ticket, waiting] = row;
    return { logId, revision, oldestRevision, at: Number(at), ticket, isWaitedFor: waiting !== 0n };
  }

  advanceClock(revision: bigint, at: number): void {
    this.#advanceClock.run(revision, at);
  }

  appendEvents(events: readonly LockEvent[]): void {
    this.#insertEvents.run(events.map(valuesOf));
    for (const { revision, waiterId } of events) if (waiterId !== null) this.lines.recordGrant(revision, waiterId);
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
    const isGone = fencingToken <= this.head().oldestRevision;
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
}

function valuesOf(event: LockEvent): Value[] {
  const { revision, type, at, writtenAt, resource, owner, fencingToken, acquiredAt, expiresAt, requestId, metadata } = event;
  const segment = segmentOf(revision);
  return [segment, revision, type, at, writtenAt, resource, owner, fencingToken, acquiredAt, expiresAt, requestId, metadata];
}
