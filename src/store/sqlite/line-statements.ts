import type Database from 'better-sqlite3';
import type { Line, Waiter } from '../../locks/waiter.js';
import { INSTANCE_LEASE_MS } from '../instance-lease.js';
import type { TicketRow } from '../rows.js';
import type { NamedPlace, RepeatedCall } from '../waiter-lookups.js';
import { toWaiterRows, WAITER_COLUMNS, WaitersOfRows, type WaiterRow } from '../waiter-rows.js';

/** Of those whose turn it may be. */
const IS_LIVE = 'deadline > @now AND instance IN (SELECT id FROM lock_instances WHERE alive_until > @now)';

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
  readonly #tickets;
  readonly #setTickets;
  readonly #line;
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
    this.#tickets = db.prepare<[], TicketRow>('SELECT last, waiting FROM lock_tickets WHERE id = 1');
    this.#setTickets = db.prepare('UPDATE lock_tickets SET last = ?, waiting = ? WHERE id = 1');
    this.#line = db.prepare<[{ resource: string; now: number; limit: number }], WaiterRow>(
      `SELECT ${WAITER_COLUMNS} FROM lock_waiters WHERE resource = @resource AND ${IS_LIVE} ORDER BY ticket LIMIT @limit`,
    );
    this.#place = db.prepare<[NamedPlace], WaiterRow>(
      `SELECT ${WAITER_COLUMNS} FROM lock_waiters WHERE resource = @resource AND ticket = @ticket AND waiter_id = @waiterId`,
    );
    this.#sameCall = db.prepare<[RepeatedCall], WaiterRow>(
      `SELECT ${WAITER_COLUMNS} FROM lock_waiters WHERE owner = @owner AND request_id IS @requestId AND waiter_id = @waiterId LIMIT 1`,
    );
    this.#sameRequest = db.prepare<[Pick<RepeatedCall, 'owner' | 'requestId'>], WaiterRow>(
      `SELECT ${WAITER_COLUMNS} FROM lock_waiters WHERE owner = @owner AND request_id = @requestId`,
    );
    this.#ofOwner = db.prepare<[{ owner: string; now: number }], WaiterRow>(
      `SELECT ${WAITER_COLUMNS} FROM lock_waiters WHERE owner = @owner AND ${IS_LIVE}`,
    );
    this.#join = db.prepare<[WaiterRow]>(
      `INSERT INTO lock_waiters (${WAITER_COLUMNS}) VALUES (${WAITER_COLUMNS.replace(/\w+/g, (column) => `@${column}`)})`,
    );
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

  tickets(): TicketRow {
    const row = this.#tickets.get();
    if (row === undefined) throw new Error('lock_tickets has no row');
    return row;
  }

  /** What it reads for one group. */
  reads(): LineReads {
    const waiters = new WaitersOfRows(({ ticket, waiter_id: waiterId }, resource) =>
      this.#place.get({ resource, ticket, waiterId }),
    );
    return {
      line: (resource, now, limit) => {
        const rows = this.#line.all({ resource, now, limit });
        return { waiters: waiters.of(rows), isWhole: rows.length < limit };
      },
      ofOwner: (owner, now) => waiters.of(this.#ofOwner.all({ owner, now })),
      at: (place) => waiters.of(this.#place.all(place)),
      repeatedBy: (call) => waiters.of(call.requestId === null ? this.#sameCall.all(call) : this.#sameRequest.all(call)),
    };
  }

  /** Stores who stands in line after a group, and who does no more. */
  change(left: readonly Waiter[], joined: readonly Waiter[], { last, waiting }: TicketRow, now: number): void {
    let places = waiting;
    for (const { resources, ticket } of left) {
      for (const resource of resources) places -= BigInt(this.#leave.run(resource, ticket).changes);
    }
    let newest = last;
    for (const waiter of joined) {
      for (const row of toWaiterRows(waiter)) places += BigInt(this.#join.run(row).changes);
      if (waiter.ticket > newest) newest = waiter.ticket;
      this.keepAlive(waiter.instance, now + INSTANCE_LEASE_MS);
    }
    this.#setTickets.run(newest, places);
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
    const { last, waiting } = this.tickets();
    const removed = this.#deleteWaiters.run({ until, limit }).changes;
    if (removed > 0) this.#setTickets.run(last, waiting - BigInt(removed));
    return removed + this.#deleteInstances.run(until).changes;
  }
}
