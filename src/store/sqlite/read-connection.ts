import Database from 'better-sqlite3';

import type { LockEvent } from '../../locks/events.js';
import type { Lock } from '../../locks/lock.js';
import { StoreUnavailable, type LockSelector, type LogHead, type LogPage } from '../lock-store.js';
import { SEGMENT_REVISIONS, segmentOf } from '../log-segments.js';
import { reading } from './faults.js';
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
import { selectorSql } from './selector-sql.js';

/** Segments that one page of a narrow watch looks through at the most: the thread that reads has sockets to serve. */
const SEGMENTS_PER_PAGE = 32n;
const BUSY_TIMEOUT_MS = 1000;

type Parameters = Record<string, string | bigint | number | null>;

/** The connection that reads the log, the rows and the clock for the engine. Each method is one short read. */
export class ReadConnection {
  readonly #db: Database.Database;
  readonly #clock: Database.Statement<[], ClockRow>;
  readonly #due: Database.Statement<[number, number], string>;
  readonly #waiting: Database.Statement<[], bigint>;
  readonly #idle: Database.Statement<[{ now: number; after: string; limit: number }], string>;
  readonly #held: Database.Statement<[number], bigint>;
  /** One for each kind of selector: the text differs, not the names in it. */
  readonly #prepared = new Map<string, Database.Statement<[Parameters]>>();

  private constructor(db: Database.Database) {
    this.#db = db;
    this.#clock = db.prepare(`SELECT ${CLOCK_COLUMNS} FROM lock_clock WHERE id = 1`);
    this.#due = db
      .prepare<[number, number], string>(
        `SELECT resource FROM distributed_locks WHERE expiry_recorded = 0 AND expires_at <= ? ORDER BY expires_at, id LIMIT ?`,
      )
      .pluck();
    this.#waiting = db.prepare<[], bigint>('SELECT waiting FROM lock_tickets WHERE id = 1').pluck();
    this.#idle = db
      .prepare<[{ now: number; after: string; limit: number }], string>(
        `SELECT min(resource) FROM (
           SELECT resource, min(ticket) AS ticket FROM lock_waiters
            WHERE deadline > @now AND instance IN (SELECT id FROM lock_instances WHERE alive_until > @now) GROUP BY resource) AS first
         WHERE NOT EXISTS (SELECT 1 FROM distributed_locks AS held WHERE held.resource = first.resource AND held.expires_at > @now)
         GROUP BY ticket HAVING min(resource) > @after ORDER BY 1 LIMIT @limit`,
      )
      .pluck();
    this.#held = db
      .prepare<[number], bigint>('SELECT count(*) FROM distributed_locks WHERE expiry_recorded = 0 AND expires_at > ?')
      .pluck();
  }

  /** @throws StoreUnavailable where the file can't be read. */
  static open(file: string): ReadConnection {
    let db: Database.Database | null = null;
    try {
      db = new Database(file, { fileMustExist: true, readonly: true, timeout: BUSY_TIMEOUT_MS });
      db.defaultSafeIntegers(true);
      return new ReadConnection(db);
    } catch (error) {
      db?.close();
      throw new StoreUnavailable(`The database file ${file} could not be opened`, false, { cause: error });
    }
  }

  clock(): LogHead & { at: number } {
    const row = reading(() => this.#clock.get());
    if (row === undefined) throw new Error('lock_clock has no row');
    return { logId: row.log_id, revision: row.revision, oldestRevision: row.oldest_revision, at: Number(row.at) };
  }

  /** Reads head and events in one snapshot of the database. */
  logPage(after: bigint, limit: number, selector: LockSelector): LogPage {
    return reading(() =>
      this.#db.transaction(() => {
        const { logId, revision, oldestRevision } = this.clock();
        const isNarrow = selector.resource !== null || selector.owner !== null || (selector.prefix ?? '') !== '';
        const page = isNarrow ? this.#matching(after, revision, limit, selector) : this.#all(after, revision, limit);
        return { logId, revision, oldestRevision, ...page };
      })(),
    );
  }

  locks(selector: LockSelector, afterResource: string | null, limit: number, now: number): Lock[] {
    const { conditions, parameters } = selectorSql(selector);
    const statement = this.#prepare<LockRow>(
      `SELECT ${LOCK_COLUMNS} FROM distributed_locks
       WHERE expires_at > @now AND +expiry_recorded = 0 AND resource > @after ${conditions} ORDER BY resource LIMIT @limit`,
    );
    // The empty string is no name, so that every name is above it.
    return reading(() => statement.all({ ...parameters, now, after: afterResource ?? '', limit })).map(toLock);
  }

  dueExpiries(now: number, limit: number): string[] {
    return reading(() => this.#due.all(now, limit));
  }

  idleLines(now: number, after: string | null, limit: number): string[] {
    return reading(() => (this.#waiting.get() === 0n ? [] : this.#idle.all({ now, after: after ?? '', limit })));
  }

  positions(now: number, instance: string, resources: readonly string[]): Map<string, number> {
    const statement = this.#prepare<{ waiter_id: string; position: bigint }>(
      `SELECT waiter_id, position FROM (
         SELECT waiter_id, instance, row_number() OVER (PARTITION BY resource ORDER BY ticket) AS position FROM lock_waiters
          WHERE resource IN (SELECT value FROM json_each(@resources)) AND deadline > @now
            AND instance IN (SELECT id FROM lock_instances WHERE alive_until > @now))
       WHERE instance = @instance`,
    );
    const rows = reading(() => statement.all({ now, instance, resources: JSON.stringify(resources) }));
    return new Map(rows.map(({ waiter_id: waiterId, position }) => [waiterId, Number(position)]));
  }

  countHeld(now: number): number {
    return Number(reading(() => this.#held.get(now)));
  }

  close(): void {
    this.#db.close();
  }

  #all(after: bigint, head: bigint, limit: number): Pick<LogPage, 'events' | 'through'> {
    const statement = this.#prepare<EventRow>(
      `SELECT ${EVENT_COLUMNS},
         (SELECT waiter_id FROM lock_grants WHERE lock_grants.revision = lock_events.revision) AS waiter_id
       FROM lock_events WHERE revision > @after ORDER BY revision LIMIT @limit`,
    );
    const events = statement.all({ after, limit }).map(toEvent);
    return { events, through: events.length < limit ? head : lastRevision(events, head) };
  }

  #matching(after: bigint, head: bigint, limit: number, selector: LockSelector): Pick<LogPage, 'events' | 'through'> {
    const { conditions, parameters } = selectorSql(selector);
    const statement = this.#prepare<EventRow>(
      `SELECT ${EVENT_COLUMNS} FROM lock_events
       WHERE segment = @segment AND revision > @after ${conditions} ORDER BY revision LIMIT @limit`,
    );
    const events: LockEvent[] = [];
    const last = segmentOf(head);
    const lastOfPage = segmentOf(after + 1n) + SEGMENTS_PER_PAGE - 1n;
    const end = lastOfPage < last ? lastOfPage : last;
    for (let segment = segmentOf(after + 1n); segment <= end; segment++) {
      const rows = statement.all({ ...parameters, segment, after, limit: limit - events.length });
      events.push(...rows.map(toEvent));
      if (events.length === limit) return { events, through: lastRevision(events, head) };
    }
    return { events, through: end === last ? head : (end + 1n) * SEGMENT_REVISIONS - 1n };
  }

  #prepare<Row>(sql: string): Database.Statement<[Parameters], Row> {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare<[Parameters]>(sql);
      this.#prepared.set(sql, statement);
    }
    return statement as Database.Statement<[Parameters], Row>;
  }
}

function lastRevision(events: readonly LockEvent[], otherwise: bigint): bigint {
  return events.at(-1)?.revision ?? otherwise;
}
