import { INSTANCE_LEASE_MS } from '../instance-lease.js';
import type { TicketRow } from '../rows.js';
import type { WaiterLookups } from '../waiter-lookups.js';
import { toWaiterRows, type WaiterRow } from '../waiter-rows.js';
import type { GroupToStore } from './group-to-store.js';
import { bigintArray, column, integerArray, textArray, textLiteral } from './literals.js';

/** Whom to read of those who stand in line. */
export interface WaitersSought {
  /** Of lines and owners, those whose turn it may be then. */
  readonly moment: number;
  readonly lines: readonly string[];
  /** Of each line. */
  readonly limit: number;
  readonly owners: readonly string[];
  readonly lookups: WaiterLookups;
}

/**
 * The first row has no waiter: it is there to tell of lock_tickets. Where nobody waits at all, it is the only one. A row that tells of
 * all that a waiter of others waits for is 'whole'.
 */
export type WaitersRow = TicketRow &
  ({ readonly sought: null } | (WaiterRow & FoundInLine) | (WaiterRow & { readonly sought: 'named' | 'whole' }));

interface FoundInLine {
  readonly sought: 'line' | 'owner';
  /** Of the instance that serves it. */
  readonly alive_until: bigint;
}

/** A statement that follows the one that takes the lock. Its rows are {@link WaitersRow}s, by ticket. */
export function readWaiters({ moment, lines, limit, owners, lookups: { places, calls } }: WaitersSought): string {
  const sought = [
    moment,
    limit,
    textArray(lines),
    textArray(owners),
    textArray(column(places, 'resource')),
    bigintArray(column(places, 'ticket')),
    textArray(column(places, 'waiterId')),
    textArray(column(calls, 'owner')),
    textArray(column(calls, 'requestId')),
    textArray(column(calls, 'waiterId')),
  ];
  return `SELECT * FROM holdfast_waiters(${sought.join(', ')});`;
}

/**
 * The call that stores what the group does to lines, where the group's own call is answered with `answer`; it returns the last ticket
 * before. Null: nothing. Whoever joins waits on this very instance.
 *
 * @param sessionKey see {@link GrowthListener.sessionKey}
 */
export function changeLines({ decision, revision, now, ticket }: GroupToStore, sessionKey: bigint | null): string | null {
  const { joined, left, events } = decision;
  const grants = events.flatMap(({ revision, waiterId }) => (waiterId === null ? [] : [{ revision, waiterId }]));
  if (joined.length + left.length + grants.length === 0) return null;
  const gone = left.flatMap(({ resources, ticket }) => resources.map((resource) => ({ resource, ticket })));
  const rows = joined.flatMap(toWaiterRows);
  const changes = [
    ticket,
    `answer.written_at - ${now}`,
    `answer.revision - ${revision}`,
    textArray(column(gone, 'resource')),
    bigintArray(column(gone, 'ticket')),
    textArray(column(rows, 'resource')),
    bigintArray(column(rows, 'ticket')),
    textArray(column(rows, 'waiter_id')),
    textArray(column(rows, 'instance')),
    textArray(column(rows, 'owner')),
    integerArray(column(rows, 'ttl_ms').map(Number)),
    textArray(column(rows, 'request_id')),
    textArray(column(rows, 'metadata')),
    textArray(column(rows, 'resources')),
    textArray(column(rows, 'own_tokens')),
    bigintArray(column(rows, 'joined_at')),
    bigintArray(column(rows, 'deadline')),
    now + INSTANCE_LEASE_MS,
    sessionKey ?? 'NULL',
    bigintArray(column(grants, 'revision')),
    textArray(column(grants, 'waiterId')),
  ];
  return `holdfast_change_lines(${changes.join(', ')})`;
}

/**
 * A sign of life of an instance. It waits for no disk: one that is lost is followed by the next.
 *
 * @param sessionKey see {@link GrowthListener.sessionKey}
 */
export function keepInstanceAlive(instance: string, until: number, sessionKey: bigint | null): string {
  return `/* sign of life */
    BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
    SET LOCAL synchronous_commit = off;
    INSERT INTO lock_instances AS i (id, alive_until, session_key) VALUES (${textLiteral(instance)}, ${until}, ${sessionKey ?? 'NULL'})
    ON CONFLICT (id) DO UPDATE SET alive_until = greatest(i.alive_until, EXCLUDED.alive_until), session_key = EXCLUDED.session_key;
    COMMIT;`;
}
