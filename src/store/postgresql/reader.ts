import type pg from 'pg';
import type { LockEvent } from '../../locks/events.js';
import type { Lock } from '../../locks/lock.js';
import type { LockSelector, LogHead, LogPage } from '../lock-store.js';
import { SEGMENT_REVISIONS, segmentOf } from '../log-segments.js';
import {
  CLOCK_COLUMNS,
  EVENT_COLUMNS,
  LOCK_COLUMNS,
  toEvent,
  toLock,
  type ClockRow,
  type EventRow,
  type LockRow,
} from '../rows.js';
import { namedFault } from './faults.js';
import type { MomentSql } from './moments.js';
import { isNarrow, selectorSql } from './selector-sql.js';

/** Segments that one page of a narrow watch looks through at the most. */
const SEGMENTS_PER_PAGE = 32n;

/** Whose time passed before that moment: its own, or that of the instance which serves it. */
export function isPassedOver(moment: string): string {
  return `(deadline <= ${moment} OR NOT EXISTS
    (SELECT FROM lock_instances WHERE lock_instances.id = lock_waiters.instance AND alive_until > ${moment}))`;
}

/** What the engine reads: the log, the rows and the clock. Each method is one statement, and so sees one moment. */
export class Reader {
  readonly #pool: pg.Pool;
  readonly #moment: MomentSql;

  constructor(pool: pg.Pool, moment: MomentSql) {
    this.#pool = pool;
    this.#moment = moment;
  }

  async now(): Promise<number> {
    const [row] = await this.#query<{ now: bigint }>(`SELECT ${this.#now()} AS now`, []);
    return Number(row?.now);
  }

  async head(): Promise<LogHead> {
    const [row] = await this.#query<ClockRow>(`SELECT ${CLOCK_COLUMNS} FROM lock_clock WHERE id = 1`, []);
    return toHead(row);
  }

  /** A page that looks at no more than so many segments of the log: a filter that admits little must not read all of it. */
  async logPage(after: bigint, limit: number, selector: LockSelector): Promise<LogPage> {
    if (!isNarrow(selector)) {
      return toPage(await this.#query<PageRow>('SELECT * FROM holdfast_log_page($1, $2)', [after, limit]), limit, null);
    }
    const end = (segmentOf(after + 1n) + SEGMENTS_PER_PAGE) * SEGMENT_REVISIONS - 1n;
    const { conditions, values } = selectorSql(selector, 2);
    const rows = await this.#query<PageRow>(
      `/* a page of the log */
       SELECT clock.log_id, clock.revision AS head, clock.oldest_revision, event.*
         FROM lock_clock AS clock LEFT JOIN LATERAL (
           SELECT ${EVENT_COLUMNS} FROM lock_events
            WHERE revision > $1 AND segment = ANY (ARRAY[${segmentList(after + 1n)}]::bigint[]) ${conditions}
            ORDER BY segment, revision LIMIT $2) AS event ON true
        WHERE clock.id = 1
        ORDER BY event.revision`,
      [after, limit, ...values],
    );
    return toPage(rows, limit, end);
  }

  async locks(selector: LockSelector, afterResource: string | null, limit: number, now: number): Promise<Lock[]> {
    const { conditions, values } = selectorSql(selector, 3);
    // The empty string is no name, so that every name is above it.
    const rows = await this.#query<LockRow>(
      `/* held locks by name */
       SELECT ${LOCK_COLUMNS} FROM distributed_locks
        WHERE expires_at > $1 AND COALESCE(expiry_recorded, true) = false AND resource > $2 ${conditions}
        ORDER BY resource LIMIT $3`,
      [now, afterResource ?? '', limit, ...values],
    );
    return rows.map(toLock);
  }

  async dueExpiries(limit: number): Promise<string[]> {
    // Asked for as a query of its own, the moment is one: of a clock that goes on, the index could not be searched for it.
    const rows = await this.#query<{ resource: string }>(
      `/* due expiries */
       SELECT resource FROM distributed_locks WHERE expiry_recorded = false AND expires_at <= (SELECT ${this.#now()})
        ORDER BY expires_at, id LIMIT $1`,
      [limit],
    );
    return rows.map(({ resource }) => resource);
  }

  /** Each line once, however long it is. Where nobody waits at all, nothing is looked at. */
  async idleLines(after: string | null, limit: number): Promise<string[]> {
    const rows = await this.#query<{ resource: string }>(
      `/* idle lines */
       WITH RECURSIVE line(resource) AS (
         SELECT min(resource) FROM lock_waiters WHERE (SELECT waiting FROM lock_tickets WHERE id = 1) > 0
         UNION ALL
         SELECT (SELECT min(resource) FROM lock_waiters WHERE lock_waiters.resource > line.resource) FROM line WHERE resource IS NOT NULL),
       moment AS MATERIALIZED (SELECT ${this.#now()} AS now)
       SELECT min(line.resource) AS resource FROM line CROSS JOIN moment CROSS JOIN LATERAL (
         SELECT ticket FROM lock_waiters WHERE lock_waiters.resource = line.resource AND NOT ${isPassedOver('now')}
          ORDER BY ticket LIMIT 1) AS first
        WHERE NOT EXISTS (SELECT FROM distributed_locks AS held WHERE held.resource = line.resource AND held.expires_at > now)
        GROUP BY first.ticket HAVING min(line.resource) > $2 ORDER BY 1 LIMIT $1`,
      [limit, after ?? ''],
    );
    return rows.map(({ resource }) => resource);
  }

  async positions(instance: string, resources: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.#query<{ waiter_id: string; position: bigint }>(
      `/* positions in line */
       WITH moment AS MATERIALIZED (SELECT ${this.#now()} AS now)
       SELECT waiter_id, position FROM (
         SELECT waiter_id, instance, row_number() OVER (PARTITION BY resource ORDER BY ticket) AS position
           FROM lock_waiters, moment WHERE resource = ANY ($2::text[]) AND NOT ${isPassedOver('now')}) AS place
        WHERE instance = $1`,
      [instance, resources],
    );
    return new Map(rows.map(({ waiter_id: waiterId, position }) => [waiterId, Number(position)]));
  }

  async countHeld(): Promise<number> {
    const [row] = await this.#query<{ held: bigint }>(
      `SELECT count(*) AS held FROM distributed_locks WHERE expiry_recorded = false AND expires_at > (SELECT ${this.#now()})`,
      [],
    );
    return Number(row?.held);
  }

  /** The oldest events of the log. */
  async oldestEvents(limit: number): Promise<{ revision: bigint; writtenAt: number }[]> {
    const rows = await this.#query<Pick<EventRow, 'revision' | 'written_at'>>(
      'SELECT revision, written_at FROM lock_events ORDER BY revision LIMIT $1',
      [limit],
    );
    return rows.map((row) => ({ revision: row.revision, writtenAt: Number(row.written_at) }));
  }

  async hasPassedOver(since: number): Promise<boolean> {
    const rows = await this.#query(
      `SELECT 1 FROM lock_waiters WHERE (SELECT waiting FROM lock_tickets WHERE id = 1) > 0 AND ${isPassedOver('$1')}
        UNION ALL SELECT 1 FROM lock_instances WHERE alive_until <= $1 LIMIT 1`,
      [since],
    );
    return rows.length > 0;
  }

  async hasExpiredUntil(moment: number): Promise<boolean> {
    const rows = await this.#query('SELECT 1 FROM distributed_locks WHERE expiry_recorded = true AND expires_at <= $1 LIMIT 1', [
      moment,
    ]);
    return rows.length > 0;
  }

  /** Never behind what is written. */
  #now(): string {
    return `(SELECT greatest(${this.#moment()}, at) FROM lock_clock WHERE id = 1)`;
  }

  async #query<Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[]): Promise<Row[]> {
    try {
      return (await this.#pool.query<Row>(sql, [...values])).rows;
    } catch (error) {
      throw namedFault(error, 'The database could not be read', false);
    }
  }
}

function segmentList(from: bigint): string {
  return Array.from({ length: Number(SEGMENTS_PER_PAGE) }, (_, n) => segmentOf(from) + BigInt(n)).join();
}

function toHead(row: Omit<ClockRow, 'at'> | undefined): LogHead {
  if (row === undefined) throw new Error('lock_clock has no row');
  return { logId: row.log_id, revision: row.revision, oldestRevision: row.oldest_revision };
}

type PageRow = Omit<ClockRow, 'at' | 'revision'> & { head: bigint } & (EventRow | { [Column in keyof EventRow]: null });

/** @param end the last revision that was looked at; null: as far as the limit allows. */
function toPage(rows: readonly PageRow[], limit: number, end: bigint | null): LogPage {
  const [first] = rows;
  const head = toHead(first && { ...first, revision: first.head });
  const events: LockEvent[] = [];
  for (const row of rows) if (row.revision !== null) events.push(toEvent(row));
  const last = end === null || end > head.revision ? head.revision : end;
  const through = events.length === limit ? (events.at(-1)?.revision ?? last) : last;
  return { ...head, events, through };
}
