import type { RememberedAcquisition } from '../../locks/retries.js';
import { SEGMENT_REVISIONS, segmentOf } from '../log-segments.js';
import type { RetriedRelease } from '../retry-lookups.js';
import { EVENT_COLUMNS, LOCK_COLUMNS, type ClockRow } from '../rows.js';
import type { GroupToStore } from './group-to-store.js';
import { laterTime } from './later-time.js';
import { changeLines } from './line-sql.js';
import { bigintArray, booleanArray, column, integerArray, textArray, textLiteral } from './literals.js';

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
const LONG_ANSWER = `SET LOCAL tcp_user_timeout = ${IDLE_TIMEOUT_MS};`;

/** What is looked up under the lock must not keep others from it for long. */
const LOOKUP_TIMEOUT_MS = 2000;

/** So large that hardly a page has room for it that is in use, and not so large that it would be kept elsewhere. */
const LARGE_ROW_BYTES = 1800;

const EVENT = EVENT_COLUMNS.split(', ')
  .map((column) => `event.${column}`)
  .join(', ');

/** By so much, at the most, the log may have come to a later time than that of a decision from memory. */
export const MAX_DELAY_MS = 100;

/** A group can no longer be stored once the log has come to a time so long after its own. */
export const TOO_LATE_MS = MAX_DELAY_MS + 1;

// A time that the database allows each statement is not meant for one that waits. In the lists below NULL is no text.
export const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
    SET LOCAL statement_timeout = 0;
    SET LOCAL array_nulls = on;`;

/**
 * Begins a transaction and takes the lock that makes all groups serial, over all instances. Whatever follows in the same
 * message is a statement of its own and sees all that was committed before the lock was free. All settings end with the
 * transaction, so that a pooler has nothing to lose. Its row is a {@link LockTaken}.
 */
export function takeLock(lockTimeoutMs = LOCK_TIMEOUT_MS): string {
  return `${BEGIN}
    SELECT * FROM holdfast_take_lock(${lockTimeoutMs}, ${IDLE_TIMEOUT_MS});`;
}

export interface LockTaken extends ClockRow {
  /** The database's clock, in epoch milliseconds. */
  readonly read_at: bigint;
}

export function readLocksOf(resources: readonly string[]): string {
  return `${resources.length > FEW_RESOURCES ? LONG_ANSWER : ''} SELECT ${LOCK_COLUMNS} FROM holdfast_locks_of(${textArray(resources)});`;
}

/** The newest ACQUIRED event of each of these requests. */
export function readAcquisitions(acquisitions: readonly RememberedAcquisition[]): string {
  const wanted = [
    textArray(column(acquisitions, 'requestId')),
    textArray(column(acquisitions, 'resource')),
    textArray(column(acquisitions, 'owner')),
  ];
  return `/* acquisitions of these requests */
    ${acquisitions.length > FEW_RESOURCES ? LONG_ANSWER : ''}
    SELECT ${EVENT} FROM unnest(${wanted.join(', ')}) AS wanted(request_id, resource, owner) CROSS JOIN LATERAL (
      SELECT * FROM lock_events
       WHERE request_id = wanted.request_id AND resource = wanted.resource AND owner = wanted.owner AND type = 'ACQUIRED'
       ORDER BY revision DESC LIMIT 1) AS event;`;
}

/**
 * The last event that bears each token, found segment by segment, the newest first: until one in which a resource begins with that
 * token or an earlier one, as tokens rise. None before that of the token's own ACQUIRED can have one, nor one whose successor
 * began before `writtenSince`.
 *
 * @param oldestRevision of the log: a later token is the revision of an ACQUIRED in it, or of none
 */
export function readLastEventsOf(releases: readonly RetriedRelease[], writtenSince: number, oldestRevision: bigint): string {
  const wanted = [bigintArray(column(releases, 'fencingToken')), textArray(column(releases, 'resource'))];
  return `/* last events of these tokens */
    ${LONG_ANSWER}
    SET LOCAL statement_timeout = ${LOOKUP_TIMEOUT_MS};
    SET LOCAL jit = off;
    WITH RECURSIVE wanted AS (
      SELECT * FROM unnest(${wanted.join(', ')}) AS wanted(token, resource)
       WHERE token <= ${oldestRevision}
          OR EXISTS (SELECT FROM lock_events AS e WHERE e.revision = token AND e.type = 'ACQUIRED' AND e.resource = wanted.resource)),
    walk(token, resource, segment) AS (
      SELECT token, resource, (SELECT max(segment) FROM lock_events) FROM wanted
      UNION ALL
      SELECT token, resource, (SELECT max(segment) FROM lock_events WHERE segment < walk.segment) FROM walk
       WHERE segment > token / ${SEGMENT_REVISIONS}
         AND coalesce((SELECT e.fencing_token > walk.token FROM lock_events AS e
                        WHERE e.segment = walk.segment AND e.resource = walk.resource ORDER BY e.revision LIMIT 1), true)
         AND (SELECT written_at FROM lock_events WHERE revision >= walk.segment * ${SEGMENT_REVISIONS} ORDER BY revision LIMIT 1)
             >= ${writtenSince})
    SELECT ${EVENT} FROM walk CROSS JOIN LATERAL (
      SELECT * FROM lock_events AS e
       WHERE e.segment = walk.segment AND e.resource = walk.resource AND e.fencing_token = walk.token
       ORDER BY e.revision DESC LIMIT 1) AS event
     WHERE event.written_at >= ${writtenSince};`;
}

/** Whether the group was stored, and what that made of it. */
export interface StoreAnswer {
  readonly stored: boolean;
  /** The newest one before it. */
  readonly revision: bigint;
  /** When its events were written. */
  readonly written_at: bigint;
  /** The database's clock, in epoch milliseconds. */
  readonly read_at: bigint;
  /** The last one before it. Null or left out: it did nothing to lines. */
  readonly ticket?: bigint | null;
}

/**
 * Stores and commits a group that was decided under the lock, unless it is older than this. Answers with a {@link StoreAnswer}.
 *
 * @param sessionKey see {@link GrowthListener.sessionKey}
 */
export function storeGroup(group: GroupToStore, maxAgeMs: number | null, sessionKey: bigint | null): string {
  const { decision, revision, logId } = group;
  const lines = changeLines(group, sessionKey);
  const tried = decision.events.length === 0 && lines === null ? tryToAppend(revision + 1n) : '';
  return `${selectStored(callStoreGroup(group, textLiteral(logId), maxAgeMs, Array<string>(7).fill('NULL')), lines)} ${tried} COMMIT;`;
}

/** How the call that stores a group refers to what a comparison before it came to. */
export const LOG_ID_IF_UNCHANGED = 'log_id_if_unchanged';

/**
 * @param lines the call that stores what it does to lines; null: nothing
 * @param comparison the call whose result is {@link LOG_ID_IF_UNCHANGED}; null: there is none to make before
 */
export function selectStored(storing: string, lines: string | null, comparison: string | null = null): string {
  const from = comparison === null ? storing : `${comparison} AS ${LOG_ID_IF_UNCHANGED} CROSS JOIN LATERAL ${storing}`;
  return lines === null
    ? `SELECT answer.* FROM ${from} AS answer;`
    : `SELECT answer.*, CASE WHEN answer.stored THEN ${lines} END AS ticket FROM ${from} AS answer;`;
}

/** @param logId an expression. @param compared what of rows and requests the function is to compare */
export function callStoreGroup(group: GroupToStore, logId: string, maxAgeMs: number | null, compared: readonly string[]): string {
  const { revision, now, clock, isAnnounced, decision, rows } = group;
  const { upToMs, heldForMs, movesExpiry } = laterTime(decision.events, rows, now);
  // Others may have seen a lock expire by the database's clock, of which this group says that it is held.
  const ages = [maxAgeMs === null ? 'NULL' : Math.min(maxAgeMs, heldForMs), Math.min(upToMs, MAX_DELAY_MS)];
  // Who waits longer for the lock is too old when it comes.
  const decidedAt = [logId, revision, now, clock, ...ages, maxAgeMs ?? LOCK_TIMEOUT_MS, isAnnounced];
  return `holdfast_store_group(${[...decidedAt, ...compared, ...events(group, movesExpiry)].join(', ')})`;
}

type RowChange = 'insert' | 'update' | 'delete';

/** The events' revisions follow from their order, and they are all written at the time at which the group is stored. */
function events({ decision, rows, groupId }: GroupToStore, movesExpiry: readonly boolean[]): string[] {
  const lastEvents = new Map(decision.events.map((event) => [event.resource, event]));
  const finalRows = decision.events.map((event) =>
    lastEvents.get(event.resource) === event ? decision.changedRows.get(event.resource) : undefined,
  );
  const changes = decision.events.map(({ resource }, index): RowChange | null => {
    const row = finalRows[index];
    if (row === undefined) return null;
    if (rows.has(resource)) return row === null ? 'delete' : 'update';
    return row === null ? null : 'insert';
  });
  return [
    groupId.toString(),
    textArray(column(decision.events, 'type')),
    bigintArray(column(decision.events, 'at')),
    textArray(column(decision.events, 'resource')),
    textArray(column(decision.events, 'owner')),
    bigintArray(column(decision.events, 'fencingToken')),
    bigintArray(column(decision.events, 'acquiredAt')),
    bigintArray(column(decision.events, 'expiresAt')),
    textArray(column(decision.events, 'requestId')),
    textArray(column(decision.events, 'metadata')),
    booleanArray(movesExpiry),
    textArray(changes),
    integerArray(finalRows.map((row) => row?.ttlMs ?? 0)),
    booleanArray(finalRows.map((row) => row?.reacquired ?? false)),
  ];
}

/** For a group that is there to find out whether groups can be stored: the time alone would find room also on a disk that is full. */
function tryToAppend(revision: bigint): string {
  return `SAVEPOINT before;
    INSERT INTO lock_events (segment, revision, type, at, written_at, resource, owner, fencing_token, acquired_at, expires_at, metadata)
    VALUES (${segmentOf(revision)}, ${revision}, 'EXPIRED', 0, 0, '', '', 0, 0, 0, repeat(' ', ${LARGE_ROW_BYTES}));
    ROLLBACK TO before;`;
}
