import type { GroupDecision } from '../../locks/decide-group.js';
import type { LockEvent } from '../../locks/events.js';
import type { Lock } from '../../locks/lock.js';
import type { RememberedAcquisition } from '../../locks/retries.js';
import { SEGMENT_REVISIONS } from '../log-segments.js';
import { CLOCK_COLUMNS, EVENT_COLUMNS, LOCK_COLUMNS } from '../rows.js';
import { acquisitionRows, eventRows, lockRows, textRows } from './json-rows.js';
import { momentSql } from './moments.js';

/** The channel on which every commit tells its newest revision. */
export const CHANNEL = 'holdfast_log';

/**
 * An instance that freezes while it holds the lock is thrown out after this, and the others go on. That is also what they
 * wait for at the most, but for the turns of those before them: so they wait a little longer.
 */
const IDLE_TIMEOUT_MS = 3000;
const LOCK_TIMEOUT_MS = 4500;

const EVENT = EVENT_COLUMNS.split(', ')
  .map((column) => `event.${column}`)
  .join(', ');

const realMoment = momentSql(null);

/**
 * Begins a transaction and takes the lock that makes all groups serial, over all instances: the one row of lock_clock.
 * Whatever follows in the same message is a statement of its own and sees all that was committed before the lock was free.
 * All settings end with the transaction, so that a pooler has nothing to lose.
 */
export function takeLock(lockTimeoutMs = LOCK_TIMEOUT_MS): string {
  return `/* take the lock */
    BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
    SET LOCAL lock_timeout = ${lockTimeoutMs};
    SET LOCAL idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS};
    SET LOCAL synchronous_commit = on;
    SELECT ${CLOCK_COLUMNS} FROM lock_clock WHERE id = 1 FOR UPDATE;`;
}

/**
 * The moment of the decision, and what tells this transaction from all others.
 *
 * @param moment the time that the decision goes by
 */
export function readMoment(moment: string): string {
  return `SELECT ${moment} AS now, ${realMoment()} AS read_at, pg_current_xact_id()::xid::text AS transaction_id;`;
}

export function readLocksOf(resources: readonly string[]): string {
  return `/* the group's locks */
    SELECT ${LOCK_COLUMNS} FROM distributed_locks WHERE resource = ANY (ARRAY(${textRows(resources)}));`;
}

/** The newest ACQUIRED event of each of these requests. */
export function readAcquisitions(acquisitions: readonly RememberedAcquisition[]): string {
  return `/* acquisitions of these requests */
    SELECT ${EVENT} FROM ${acquisitionRows(acquisitions)} CROSS JOIN LATERAL (
      SELECT * FROM lock_events
       WHERE request_id = wanted.request_id AND resource = wanted.resource AND owner = wanted.owner AND type = 'ACQUIRED'
       ORDER BY revision DESC LIMIT 1) AS event;`;
}

/**
 * The last event that bears each token, found segment by segment, the newest first. None before that of the token's own
 * ACQUIRED can have one, nor one whose successor began before `writtenSince`.
 */
export function readLastEventsOf(tokens: readonly bigint[], writtenSince: number): string {
  return `/* last events of these tokens */
    WITH RECURSIVE walk(token, segment) AS (
      SELECT token::bigint, (SELECT max(segment) FROM lock_events) FROM (${textRows(tokens.map(String))}) AS wanted(token)
      UNION ALL
      SELECT token, (SELECT max(segment) FROM lock_events WHERE segment < walk.segment) FROM walk
       WHERE segment > token / ${SEGMENT_REVISIONS}
         AND NOT EXISTS (SELECT FROM lock_events WHERE segment = walk.segment AND fencing_token = walk.token)
         AND (SELECT written_at FROM lock_events WHERE revision >= walk.segment * ${SEGMENT_REVISIONS} ORDER BY revision LIMIT 1)
             >= ${writtenSince})
    SELECT ${EVENT} FROM walk CROSS JOIN LATERAL (
      SELECT * FROM lock_events
       WHERE segment = walk.segment AND fencing_token = walk.token
       ORDER BY revision DESC LIMIT 1) AS event
     WHERE event.written_at >= ${writtenSince};`;
}

export interface GroupToStore {
  readonly decision: GroupDecision;
  readonly revision: bigint;
  readonly now: number;
  /** When the decision was made, by the database's clock, and how late it may be stored; null: no matter when. */
  readonly notAfter: bigint | null;
}

/** Stores a group and commits it, unless it comes too late: then the last SELECT has no row, and nothing is stored. */
export function storeGroup({ decision: { changedRows, events }, revision, now, notAfter }: GroupToStore): string {
  const kept: Lock[] = [];
  const gone: string[] = [];
  for (const [resource, lock] of changedRows) {
    if (lock === null) gone.push(resource);
    else kept.push(lock);
  }
  return `/* store a group */
    WITH clock AS (
      UPDATE lock_clock SET revision = ${revision}, at = ${now}
       WHERE id = 1 AND ${notAfter === null ? 'true' : `${realMoment()} <= ${notAfter}`}
      RETURNING id)
    ${kept.length === 0 ? '' : `, kept AS (${upsertLocks(kept)})`}
    ${gone.length === 0 ? '' : `, gone AS (DELETE FROM distributed_locks USING clock WHERE resource = ANY (ARRAY(${textRows(gone)})))`}
    ${events.length === 0 ? '' : `, logged AS (${insertEvents(events)})`}
    SELECT pg_notify('${CHANNEL}', '${revision}') FROM clock;
    COMMIT;`;
}

/** A row that is claimed, acquired again or renewed keeps its id. */
function upsertLocks(locks: readonly Lock[]): string {
  const updates = LOCK_COLUMNS.split(', ').map((column) => `${column} = EXCLUDED.${column}`);
  return `INSERT INTO distributed_locks (${LOCK_COLUMNS}) SELECT ${LOCK_COLUMNS} FROM clock CROSS JOIN ${lockRows(locks)}
    ON CONFLICT (resource) DO UPDATE SET ${updates.join(', ')}`;
}

function insertEvents(events: readonly LockEvent[]): string {
  return `INSERT INTO lock_events (segment, ${EVENT_COLUMNS}) SELECT segment, ${EVENT} FROM clock CROSS JOIN ${eventRows(events)}`;
}

/**
 * Whether that transaction wrote that event. The lock comes first: once it is free, the transaction has ended, one way or
 * the other. After a failover its number may have been given again, and so may the revision: hence the rest of the event.
 */
export function findStored(event: LockEvent, transactionId: string, lockTimeoutMs: number): string {
  return `${takeLock(lockTimeoutMs)}
    SELECT 1 FROM lock_events
     WHERE revision = ${event.revision} AND xmin::text = '${BigInt(transactionId)}' AND written_at = ${event.writtenAt}
       AND resource = ANY (ARRAY(${textRows([event.resource])})) AND owner = ANY (ARRAY(${textRows([event.owner])}));
    ROLLBACK;`;
}
