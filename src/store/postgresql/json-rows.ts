import pg from 'pg';
import type { LockEvent } from '../../locks/events.js';
import type { Lock } from '../../locks/lock.js';
import type { RememberedAcquisition } from '../../locks/retries.js';
import { segmentOf } from '../log-segments.js';

/**
 * Values as one JSON literal each: the whole group travels in one message of the simple protocol, in which there are no
 * parameters. Names in it can't end the literal: the driver escapes it. (JSON escapes what UTF-8 has no bytes for.)
 */
function literal(value: unknown): string {
  return pg.escapeLiteral(JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? String(part) : part)));
}

/** A query whose only column holds the texts. */
export function textRows(texts: readonly string[]): string {
  return `SELECT json_array_elements_text(${literal(texts)})`;
}

/** A table with the columns of {@link RememberedAcquisition}. */
export function acquisitionRows(acquisitions: readonly RememberedAcquisition[]): string {
  const rows = acquisitions.map(({ requestId, resource, owner }) => ({ request_id: requestId, resource, owner }));
  return `json_to_recordset(${literal(rows)}) AS wanted(request_id text, resource text, owner text)`;
}

/** A table with all columns of distributed_locks but the id. */
export function lockRows(locks: readonly Lock[]): string {
  const rows = locks.map((lock) => ({
    resource: lock.resource,
    owner: lock.owner,
    fencing_token: lock.fencingToken,
    revision: lock.revision,
    acquired_at: lock.acquiredAt,
    expires_at: lock.expiresAt,
    ttl_ms: lock.ttlMs,
    request_id: lock.requestId,
    reacquired: lock.reacquired,
    metadata: lock.metadata,
    expiry_recorded: lock.expiryRecorded,
  }));
  return `json_to_recordset(${literal(rows)}) AS lock(resource text, owner text, fencing_token bigint, revision bigint,
    acquired_at bigint, expires_at bigint, ttl_ms integer, request_id text, reacquired boolean, metadata text, expiry_recorded boolean)`;
}

/** A table with all columns of lock_events. */
export function eventRows(events: readonly LockEvent[]): string {
  const rows = events.map((event) => ({
    segment: segmentOf(event.revision),
    revision: event.revision,
    type: event.type,
    at: event.at,
    written_at: event.writtenAt,
    resource: event.resource,
    owner: event.owner,
    fencing_token: event.fencingToken,
    acquired_at: event.acquiredAt,
    expires_at: event.expiresAt,
    request_id: event.requestId,
    metadata: event.metadata,
  }));
  return `json_to_recordset(${literal(rows)}) AS event(segment bigint, revision bigint, type text, at bigint, written_at bigint,
    resource text, owner text, fencing_token bigint, acquired_at bigint, expires_at bigint, request_id text, metadata text)`;
}
