import { setTimeout as sleep } from 'node:timers/promises';
import { providerOf, type DatabaseProvider } from '../../src/store/database-url.js';
import { runSql, type Row } from '../support/sql.js';
import type { TicketedGrant } from './checker/tickets.js';

const POLL_MS = 100;
/** A server that was taken for dead for so short a time may not have been seen to be. */
const BLIND_MS = 700;

/** Those whose waiters have their turns: `has_session` as well. */
const INSTANCES: Readonly<Record<DatabaseProvider, string>> = {
  postgresql: `SELECT id, alive_until, session_key, session_key IS NULL OR EXISTS (
      SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted
         AND (classid::bigint << 32 | objid::bigint) = session_key) AS has_session FROM lock_instances`,
  sqlite: 'SELECT id, alive_until, NULL AS session_key, 1 AS has_session FROM lock_instances',
};

interface Place {
  readonly ticket: bigint;
  /** Nobody passed it over, as far as was seen. */
  isKept: boolean;
}

/** Looks into the database, again and again, for the tickets of those who stand in line. */
export class LineWatcher {
  readonly #databaseUrl: string;
  readonly #places = new Map<string, Place>();
  readonly #waitersOf = new Map<bigint, Set<string>>();
  #instances = new Map<unknown, Row>();
  readonly #ended: Promise<void>;
  #isStopped = false;

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
    this.#ended = this.#watch();
  }

  /** Looks no more. Resolves to the turns of those who were seen to stand in line, and were passed over at no time. */
  async stop(): Promise<TicketedGrant[]> {
    this.#isStopped = true;
    await this.#ended;
    const grants = await runSql(this.#databaseUrl, 'SELECT revision, waiter_id FROM lock_grants');
    return grants.flatMap(({ revision, waiter_id: waiterId }) => {
      const place = this.#places.get(String(waiterId));
      // A call that came again may have been passed over before it did.
      const isAlone = place !== undefined && this.#waitersOf.get(place.ticket)?.size === 1;
      return isAlone && place.isKept ? [{ revision: revision as bigint, ticket: place.ticket }] : [];
    });
  }

  async #watch(): Promise<void> {
    let lookedAt = performance.now();
    while (!this.#isStopped) {
      await sleep(POLL_MS);
      try {
        this.#learn(await this.#read('SELECT * FROM lock_waiters'), await this.#read(INSTANCES[providerOf(this.#databaseUrl)]));
      } catch {
        // The database can't be reached at the moment.
        continue;
      }
      if (performance.now() - lookedAt > BLIND_MS) for (const place of this.#places.values()) place.isKept = false;
      lookedAt = performance.now();
    }
  }

  #read(sql: string): Promise<Row[]> {
    return runSql(this.#databaseUrl, sql);
  }

  #learn(waiters: readonly Row[], instances: readonly Row[]): void {
    const now = BigInt(Date.now());
    const isAlive = (row: Row) => (row['alive_until'] as bigint) > now && Boolean(row['has_session']);
    const before = this.#instances;
    this.#instances = new Map(instances.map((row) => [row['id'], row]));
    // Since the last look it may have been dead, and come back with another session.
    const wasAlive = (row: Row) => {
      const last = before.get(row['id']);
      return last === undefined || ((last['alive_until'] as bigint) > now && last['session_key'] === row['session_key']);
    };
    const kept = new Set(instances.filter((row) => isAlive(row) && wasAlive(row)).map(({ id }) => id));
    for (const { waiter_id: waiterId, ticket, instance } of waiters) {
      const id = String(waiterId);
      const place = this.#places.get(id) ?? { ticket: ticket as bigint, isKept: true };
      if (!kept.has(instance)) place.isKept = false;
      this.#places.set(id, place);
      this.#waitersOf.set(place.ticket, (this.#waitersOf.get(place.ticket) ?? new Set()).add(id));
    }
  }
}
