import type pg from 'pg';

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** What takes a lock and gives it back again, in one statement each. */
export interface StatementPair {
  readonly take: (name: string, owner: string) => pg.QueryConfig;
  readonly give: (name: string, owner: string) => pg.QueryConfig;
  /** Where the locks are. */
  readonly table: string;
}

/** What these statements need. */
export const CREATE_TABLES = `
  CREATE TABLE plain_locks (resource text PRIMARY KEY, owner text NOT NULL, expires_at bigint NOT NULL);
  CREATE TABLE logged_locks (LIKE distributed_locks INCLUDING ALL);
  CREATE TABLE logged_events (LIKE lock_events INCLUDING ALL);
  CREATE TABLE logged_clock (id integer PRIMARY KEY, revision bigint NOT NULL);
  INSERT INTO logged_clock VALUES (1, 0)`;

/** A table with nothing but the name as its key: no fencing token, no log, nothing to watch. */
export const PLAIN: StatementPair = {
  table: 'plain_locks',
  take: (name, owner) => ({
    name: 'take',
    text: `INSERT INTO plain_locks (resource, owner, expires_at) VALUES ($1, $2, ${NOW} + 30000)
           ON CONFLICT (resource) DO UPDATE SET owner = EXCLUDED.owner, expires_at = EXCLUDED.expires_at
           WHERE plain_locks.expires_at <= ${NOW}`,
    values: [name, owner],
  }),
  give: (name, owner) => ({
    name: 'give',
    text: 'DELETE FROM plain_locks WHERE resource = $1 AND owner = $2',
    values: [name, owner],
  }),
};

const LOG = `INSERT INTO logged_events (segment, revision, type, at, written_at, resource, owner, fencing_token, acquired_at, expires_at)
             SELECT clock.revision / 4096, clock.revision, $3, ${NOW}, ${NOW}, resource, owner, fencing_token, acquired_at, expires_at
               FROM changed, clock`;
const CLOCK = 'clock AS (UPDATE logged_clock SET revision = revision + 1 WHERE id = 1 RETURNING revision)';

/** The same locks, tokens, log and indexes as the service keeps. */
export const LOGGED: StatementPair = {
  table: 'logged_locks',
  take: (name, owner) => ({
    name: 'take-logged',
    text: `WITH ${CLOCK}, changed AS (
             INSERT INTO logged_locks AS held (resource, owner, fencing_token, revision, acquired_at, expires_at, ttl_ms, reacquired,
                                               expiry_recorded)
             SELECT $1, $2, revision, revision, ${NOW}, ${NOW} + 30000, 30000, false, false FROM clock
             ON CONFLICT (resource) DO UPDATE SET owner = EXCLUDED.owner, fencing_token = EXCLUDED.fencing_token,
               revision = EXCLUDED.revision, acquired_at = EXCLUDED.acquired_at, expires_at = EXCLUDED.expires_at
             WHERE held.expires_at <= ${NOW} RETURNING *)
           ${LOG}`,
    values: [name, owner, 'ACQUIRED'],
  }),
  give: (name, owner) => ({
    name: 'give-logged',
    text: `WITH ${CLOCK}, changed AS (DELETE FROM logged_locks WHERE resource = $1 AND owner = $2 RETURNING *) ${LOG}`,
    values: [name, owner, 'RELEASED'],
  }),
};
