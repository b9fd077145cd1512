import pg from 'pg';
import type { LockEvent } from '../../locks/events.js';
import type { Lock } from '../../locks/lock.js';
import type { RememberedAcquisition } from '../../locks/retries.js';
import { segmentOf } from '../log-segments.js';
import type { EventRow, LockRow } from '../rows.js';

/** The columns of a table, with values as JSON has them. */
type Columns<Row> = { readonly [Column in keyof Row]: string | number | bigint | boolean | null };

/**
 * A value as a literal of JSON, numbers of 64 bits as text: a whole group travels in one message of the simple protocol, in
 * which there are no parameters. No name can end the literal: the driver escapes it.
 */
export function literal(value: unknown): string {
  return pg.escapeLiteral(JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? String(part) : part)));
}

export function acquisitionRow({ requestId, resource, owner }: RememberedAcquisition) {
  return { request_id: requestId, resource, owner };
}

export function lockRow(lock: Lock): Columns<LockRow> {
  return {
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
  };
}

export function eventRow(event: LockEvent): Columns<EventRow & { segment: bigint }> {
  return {
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
  };
}
