import type Database from 'better-sqlite3';
import type { Line, Waiter } from '../../locks/waiter.js';
import { INSTANCE_LEASE_MS } from '../instance-lease.js';
import type { NamedPlace, RepeatedCall } from '../waiter-lookups.js';
import { toWaiterRows, WAITER_COLUMNS, WaitersOfRows, type WaiterRow } from '../waiter-rows.js';
import { insertion, type Value } from './batches.js';

/** The columns of a row in their order: a row that comes as an object takes twice as long. */
type StoredWaiter = [
  resource: string,
  ticket: bigint,
  waiterId: string,
  instance: string,
  owner: string,
  ttlMs: bigint,
  requestId: string | null,
  metadata: string | null,
  resources: string | null,
  ownTokens: string | null,
  joinedAt: bigint,
  deadline: bigint,
];

/** Of those whose turn it may be. */
const IS_LIVE = 'deadline > @now AND EXISTS (SELECT 1 FROM lock_instances WHERE id = instance AND alive_until > @now)';

/** Who stands in line, as a group that is decided sees them. */
export interface LineReads {
  /** At most so many of those whose turn it may be, by ticket. */
  line(resource: string, now: number, limit: number): Line;
  /** Everywhere that the owner stands in line. */
  ofOwner(owner: string, now: number): Waiter[];
  at(place: NamedPlace): Waiter[];
  repeatedBy(call: RepeatedCall): Waiter[];
}

/** What the writing connection says about those who stand in line, prepared once. */
export class LineStatements {
  readonly #db;
  readonly #count;
  readonly #lines = new Map<number, Database.Statement<[{ resource: string; now: number }], StoredWaiter>>();
  readonly #place;
  readonly #sameCall;
  readonly #sameRequest;
  readonly #ofOwner;
  readonly #join;
  readonly #leave;
  readonly #keepAlive;
  readonly #grant;
  readonly #deleteGrants;
  readonly #deleteWaiters;
  readonly #deleteInstances;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#count = db.prepare<[bigint, number]>('UPDATE lock_tickets SET last = max(last, ?), waiting = waiting + ? WHERE id = 1');
    const select = <P extends object>(condition: string) =>
      db.prepare<[P], StoredWaiter>(`SELECT ${WAITER_COLUMNS} FROM lock_waiters WHERE ${condition}`).raw();
    this.#place = select<NamedPlace>('resource = @resource AND ticket = @ticket AND waiter_id = @waiterId');
    this.#sameCall = select<RepeatedCall>('owner = @owner AND request_id IS @requestId AND waiter_id = @waiterId LIMIT 1');
    this.#sameRequest = select<Pick<RepeatedCall, 'owner' | 'requestId'>>('owner = @owner AND request_id = @requestId');
    this.#ofOwner = select<{ owner: string; now: number }>(`owner = @owner AND ${IS_LIVE}`);
    this.#join = insertion(db, 'lock_waiters', WAITER_COLUMNS);
    this.#leave = db.prepare<[string, bigint]>('DELETE FROM lock_waiters WHERE resource = ? AND ticket = ?');
    this.#keepAlive = db.prepare<[string, number]>(
      `INSERT INTO lock_instances (id, alive_until) VALUES (?, ?)
       ON CONFLICT (id) DO UPDATE SET alive_until = max(alive_until, excluded.alive_until)`,
    );
    this.#grant = db.prepare<[bigint, string]>('INSERT INTO lock_grants (revision, waiter_id) VALUES (?, ?)');
    this.#deleteGrants = db.prepare<[bigint]>('DELETE FROM lock_grants WHERE revision <= ?');
    this.#deleteWaiters = db.prepare<[{ until: number; limit: number }]>(
      `DELETE FROM lock_waiters WHERE (resource, ticket) IN (
         SELECT resource, ticket FROM lock_waiters
          WHERE deadline <= @until OR instance NOT IN (SELECT id FROM lock_instances WHERE alive_until > @until) LIMIT @limit)`,
    );
    this.#deleteInstances = db.prepare<[number]>('DELETE FROM lock_instances WHERE alive_until <= ?');
  }

  /** What it reads for one group. */
  reads(): LineReads {
    const waiters = new WaitersOfRows(({ ticket, waiter_id: waiterId }, resource) => {
      const row = this.#place.get({ resource, ticket, waiterId });
      return row && rowOf(row);
    });
    const of = (rows: readonly StoredWaiter[]) => waiters.of(rows.map(rowOf));
    return {
      line: (resource, now, limit) => {
        const rows = this.#line(limit).all({ resource, now });
        return { waiters: of(rows), isWhole: rows.length < limit };
      },
      ofOwner: (owner, now) => of(this.#ofOwner.all({ owner, now })),
      at: (place) => of(this.#place.all(place)),
      repeatedBy: (call) => of(call.requestId === null ? this.#sameCall.all(call) : this.#sameRequest.all(call)),
    };
  }

  /** The limit is part of the text: where it is a parameter, SQLite prepares the statement anew each time that it is run. */
  #line(limit: number): Database.Statement<[{ resource: string; now: number }], StoredWaiter> {
    let statement = this.#lines.get(limit);
    if (statement === undefined) {
      statement = this.#db
        .prepare<[{ resource: string; now: number }], StoredWaiter>(
          `SELECT ${WAITER_COLUMNS} FROM lock_waiters WHERE resource = @resource AND ${IS_LIVE} ORDER BY ticket LIMIT ${limit}`,
        )
        .raw();
      this.#lines.set(limit, statement);
    }
    return statement;
  }

  /** Stores who stands in line after a group, and who does no more. */
  change(left: readonly Waiter[], joined: readonly Waiter[], now: number): void {
    let places = 0;
    for (const { resources, ticket } of left) {
      for (const resource of resources) places -= this.#leave.run(resource, ticket).changes;
    }
    let last = 0n;
    for (const waiter of joined) {
      const rows = toWaiterRows(waiter).map(valuesOf);
      this.#join.run(rows);
      places += rows.length;
      if (waiter.ticket > last) last = waiter.ticket;
      this.keepAlive(waiter.instance, now + INSTANCE_LEASE_MS);
    }
    this.#count.run(last, places);
  }

  keepAlive(instance: string, until: number): void {
    this.#keepAlive.run(instance, until);
  }

  recordGrant(revision: bigint, waiterId: string): void {
    this.#grant.run(revision, waiterId);
  }

  deleteGrantsUpTo(revision: bigint): void {
    this.#deleteGrants.run(revision);
  }

  /** Those in line whose time passed by then, and the instances that gave no sign of life since. */
  deleteWaitersUntil(until: number, limit: number): number {
    const removed = this.#deleteWaiters.run({ until, limit }).changes;
    if (removed > 0) this.#count.run(0n, -removed);
    return removed + this.#deleteInstances.run(until).changes;
  }
}

function rowOf(values: StoredWaiter): WaiterRow {
  const [resource, ticket, waiterId, instance, owner, ttlMs, requestId, metadata, resources, ownTokens, joinedAt, deadline] =
    values;
  return {
    resource,
    ticket,
    waiter_id: waiterId,
    instance,
    owner,
    ttl_ms: ttlMs,
    request_id: requestId,
    metadata,
    resources,
    own_tokens: ownTokens,
    joined_at: joinedAt,
    deadline,
  };
}

function valuesOf(row: WaiterRow): Value[] {
  return [
    row.resource,
    row.ticket,
    row.waiter_id,
    row.instance,
    row.owner,
    row.ttl_ms,
    row.request_id,
    row.metadata,
    row.resources,
    row.own_tokens,
    row.joined_at,
    row.deadline,
  ];
}
