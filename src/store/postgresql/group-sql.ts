import type { GroupDecision } from '../../locks/decide-group.js';
import type { LockEvent } from '../../locks/events.js';
import type { Lock } from '../../locks/lock.js';
import type { RememberedAcquisition } from '../../locks/retries.js';
import { SEGMENT_REVISIONS } from '../log-segments.js';
import { EVENT_COLUMNS, LOCK_COLUMNS, type ClockRow } from '../rows.js';
import { bigintArray, booleanArray, integerArray, textArray, textLiteral } from './literals.js';

/**
 * An instance that freezes while it holds the lock is thrown out after this, and the others go on: they wait for two such
 * instances in a row, and for the turns of those before them. A decision of that age would have to be made anew in any case.
 */
const IDLE_TIMEOUT_MS = 1500;
export const LOCK_TIMEOUT_MS = 4500;

/** The locks of so many resources fit into the buffers of a connection, whatever is written on them. */
const FEW_RESOURCES = 4;
/**
 * The database waits for whoever does not take its answer, and an instance that is frozen never will. On Linux it can be told
 * for how long; elsewhere that is not to be had.
 */
const ANSWER_TIMEOUT_MS = IDLE_TIMEOUT_MS;

/** So large that hardly a page has room for it that is in use, and not so large that it would be kept elsewhere. */
const LARGE_ROW_BYTES = 1800;

/** By which holdfast_advance says that the decision is too old. */
export const TOO_LATE = 'HF001';

const EVENT = EVENT_COLUMNS.split(', ')
  .map((column) => `event.${column}`)
  .join(', ');

/**
 * Begins a transaction and takes the lock that makes all groups serial, over all instances. Whatever follows in the same
 * message is a statement of its own and sees all that was committed before the lock was free. All settings end with the
 * transaction, so that a pooler has nothing to lose. Its row is a {@link LockTaken}.
 */
export function takeLock(lockTimeoutMs = LOCK_TIMEOUT_MS): string {
  // A time that the database allows each statement is not meant for one that waits.
  return `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
    SET LOCAL statement_timeout = 0;
    SELECT * FROM holdfast_take_lock(${lockTimeoutMs}, ${IDLE_TIMEOUT_MS});`;
}

export interface LockTaken extends ClockRow {
  /** The database's clock, in epoch milliseconds. */
  readonly read_at: bigint;
  /** What tells this transaction from others. */
  readonly transaction_id: string;
}

export function readLocksOf(resources: readonly string[]): string {
  const limit = resources.length > FEW_RESOURCES ? `SET LOCAL tcp_user_timeout = ${ANSWER_TIMEOUT_MS};` : '';
  return `${limit} SELECT ${LOCK_COLUMNS} FROM holdfast_locks_of(${textArray(resources)});`;
}

/** The newest ACQUIRED event of each of these requests. */
export function readAcquisitions(acquisitions: readonly RememberedAcquisition[]): string {
  const wanted = [
    textArray(column(acquisitions, 'requestId')),
    textArray(column(acquisitions, 'resource')),
    textArray(column(acquisitions, 'owner')),
  ];
  return `/* acquisitions of these requests */
    SELECT ${EVENT} FROM unnest(${wanted.join(', ')}) AS wanted(request_id, resource, owner) CROSS JOIN LATERAL (
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
      SELECT token, (SELECT max(segment) FROM lock_events) FROM unnest(${bigintArray(tokens)}) AS wanted(token)
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
  /** The newest one, after it. */
  readonly revision: bigint;
  readonly now: number;
  /** The moment of the database's clock after which it is {@link TOO_LATE}; null: never. */
  readonly notAfter: bigint | null;
}

/** Stores a group and commits it. */
export function storeGroup({ decision: { changedRows, events }, revision, now, notAfter }: GroupToStore): string {
  const kept: Lock[] = [];
  const gone: string[] = [];
  for (const [resource, lock] of changedRows) {
    if (lock === null) gone.push(resource);
    else kept.push(lock);
  }
  return [
    `SELECT holdfast_advance(${revision}, ${now}, ${notAfter ?? 'NULL'});`,
    ...(kept.length === 0 ? [] : [`SELECT holdfast_put_locks(${lockColumns(kept).join(', ')});`]),
    ...(gone.length === 0 ? [] : [`SELECT holdfast_remove_locks(${textArray(gone)});`]),
    events.length === 0 ? tryToAppend(revision + 1n) : appendEvents(events),
    'COMMIT;',
  ].join('\n');
}

function appendEvents(events: readonly LockEvent[]): string {
  return `SELECT holdfast_append_events(${eventColumns(events).join(', ')});`;
}

/** For a group that is there to find out whether groups can be stored: the time alone would find room also on a disk that is full. */
function tryToAppend(revision: bigint): string {
  const nothing = { resource: '', owner: '', at: 0, writtenAt: 0, acquiredAt: 0, expiresAt: 0, fencingToken: 0n, requestId: null };
  return `SAVEPOINT before;
    ${appendEvents([{ ...nothing, type: 'EXPIRED', revision, metadata: ' '.repeat(LARGE_ROW_BYTES) }])}
    ROLLBACK TO before;`;
}

/** In the order of holdfast_put_locks. */
function lockColumns(locks: readonly Lock[]): string[] {
  return [
    textArray(column(locks, 'resource')),
    textArray(column(locks, 'owner')),
    bigintArray(column(locks, 'fencingToken')),
    bigintArray(column(locks, 'revision')),
    bigintArray(column(locks, 'acquiredAt')),
    bigintArray(column(locks, 'expiresAt')),
    integerArray(column(locks, 'ttlMs')),
    textArray(column(locks, 'requestId')),
    booleanArray(column(locks, 'reacquired')),
    textArray(column(locks, 'metadata')),
    booleanArray(column(locks, 'expiryRecorded')),
  ];
}

/** In the order of holdfast_append_events. */
function eventColumns(events: readonly LockEvent[]): string[] {
  return [
    bigintArray(column(events, 'revision')),
    textArray(column(events, 'type')),
    bigintArray(column(events, 'at')),
    bigintArray(column(events, 'writtenAt')),
    textArray(column(events, 'resource')),
    textArray(column(events, 'owner')),
    bigintArray(column(events, 'fencingToken')),
    bigintArray(column(events, 'acquiredAt')),
    bigintArray(column(events, 'expiresAt')),
    textArray(column(events, 'requestId')),
    textArray(column(events, 'metadata')),
  ];
}

function column<Row, Name extends keyof Row>(rows: readonly Row[], name: Name): Row[Name][] {
  return rows.map((row) => row[name]);
}

/**
 * Whether that transaction wrote that event. The lock comes first: once it is free, the transaction has ended, one way or
 * the other. After a failover its number may have been given again, and so may the revision: hence the rest of the event.
 */
export function findStored(event: LockEvent, transactionId: string, lockTimeoutMs: number): string {
  return `${takeLock(lockTimeoutMs)}
    SELECT 1 FROM lock_events
     WHERE revision = ${event.revision} AND xmin::text = ${textLiteral(transactionId)} AND written_at = ${event.writtenAt}
       AND resource = ${textLiteral(event.resource)} AND owner = ${textLiteral(event.owner)};
    ROLLBACK;`;
}
