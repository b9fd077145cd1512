import { randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';
import pg from 'pg';
import { sqlitePath } from '../../src/store/database-url.js';

export const LOG_EVENTS = 1_000_000;
/** Of these the oldest are pruned, so that some tokens have lost their acquisition. */
export const OLDEST = 2;
const RESOURCES = 20_000;
const OWNERS = 1000;
/** A log of a week: one event after the other. */
const APART_MS = 600;
export const END = Date.now();

/** When the event of that revision happened. */
export const momentOf = (revision: number) => END - (LOG_EVENTS - revision) * APART_MS;

const TYPES = ['ACQUIRED', 'RENEWED', 'RENEWED', 'RELEASED'];
/** Expiries are all in the oldest tenth of the log, and so are the events of one resource and one owner. */
const OLD = LOG_EVENTS / 10;

/** An event of the log: rounds of four, over names in groups of a hundred. */
function eventAt(revision: number) {
  const round = Math.ceil(revision / 4);
  const step = (revision - 1) % 4;
  const isOld = revision < OLD && round % 100 === 0;
  const name = Math.imul(round, 0x9e3779b1) >>> 0;
  const at = momentOf(revision);
  return {
    revision,
    segment: Math.floor(revision / 4096),
    type: step === 3 && isOld ? 'EXPIRED' : TYPES[step],
    at,
    written_at: at,
    resource: isOld ? 'old:job' : `group:${name % 100}:job:${name % RESOURCES}`,
    owner: isOld ? 'old-owner' : `owner:${name % OWNERS}`,
    fencing_token: revision - step,
    acquired_at: at - step * APART_MS,
    expires_at: at + 30_000,
  };
}

type EventRow = ReturnType<typeof eventAt>;
const COLUMNS = Object.keys(eventAt(1)) as (keyof EventRow)[];
const CHUNK = 10_000;

/** A resource of so many events all over the log. */
export const USUAL = eventAt(LOG_EVENTS / 2);

/** Fills the log of a database whose schema is up to date. */
export async function fillHistory(databaseUrl: string): Promise<void> {
  const clock = `UPDATE lock_clock SET revision = ${LOG_EVENTS}, oldest_revision = ${OLDEST}, at = ${END}, log_id = '${randomBytes(16).toString('hex')}'`;
  const put = databaseUrl.startsWith('file:') ? openSqlite(databaseUrl) : await openPostgresql(databaseUrl);
  for (let from = OLDEST + 1; from <= LOG_EVENTS; from += CHUNK) {
    const count = Math.min(CHUNK, LOG_EVENTS - from + 1);
    await put.rows(Array.from({ length: count }, (_, n) => eventAt(from + n)));
  }
  await put.end(clock);
}

interface Filling {
  rows(rows: readonly EventRow[]): Promise<void>;
  end(sql: string): Promise<void>;
}

function openSqlite(databaseUrl: string): Filling {
  const db = new Database(sqlitePath(databaseUrl));
  db.pragma('synchronous = OFF');
  const insert = db.prepare(`INSERT INTO lock_events (${COLUMNS.join()}) VALUES (${COLUMNS.map((column) => `@${column}`).join()})`);
  const insertAll = db.transaction((rows: readonly EventRow[]) => rows.forEach((row) => insert.run(row)));
  return {
    rows: async (rows) => insertAll(rows),
    async end(sql) {
      db.exec(sql);
      db.pragma('wal_checkpoint(TRUNCATE)');
      db.close();
    },
  };
}

async function openPostgresql(databaseUrl: string): Promise<Filling> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const insert = `INSERT INTO lock_events (${COLUMNS.join()})
                  SELECT ${COLUMNS.join()} FROM json_populate_recordset(NULL::lock_events, $1)`;
  return {
    async rows(rows) {
      await client.query(insert, [JSON.stringify(rows)]);
    },
    async end(sql) {
      await client.query(sql);
      await client.query('VACUUM ANALYZE');
      await client.end();
    },
  };
}
