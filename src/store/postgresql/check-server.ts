import type pg from 'pg';
import { reasonFor } from '../fault-reasons.js';
import { placeOfPostgresql } from '../postgresql-url.js';
import { UnusableDatabase } from '../unusable-database.js';

/** The oldest one with all the functions that the migrations and the store use (gen_random_uuid, pg_current_xact_id). */
const OLDEST_VERSION = 13;

/**
 * Connects, and looks at where that leads.
 *
 * @throws UnusableDatabase where it can't be reached, could not hold every name, or lacks what this program needs.
 */
export async function checkServer(pool: pg.Pool, databaseUrl: string): Promise<void> {
  const { version, encoding } = await ask(pool, databaseUrl);
  const major = Math.floor(version / 10_000);
  if (major < OLDEST_VERSION) {
    throw new UnusableDatabase('INACCESSIBLE', `The database is PostgreSQL ${major}: it must be ${OLDEST_VERSION} or later`);
  }
  if (encoding !== 'UTF8') {
    throw new UnusableDatabase('INACCESSIBLE', `The database has the encoding ${encoding}: it must be UTF8`);
  }
}

async function ask(pool: pg.Pool, databaseUrl: string): Promise<{ readonly version: number; readonly encoding: string }> {
  try {
    const { rows } = await pool.query<{ version: number; encoding: string }>(
      `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding`,
    );
    const [answer = { version: 0, encoding: '' }] = rows;
    return answer;
  } catch (error) {
    const message = `DATABASE_URL: the database ${placeOfPostgresql(databaseUrl)} can't be opened: ${reasonFor(error)}`;
    throw new UnusableDatabase('INACCESSIBLE', message, { cause: error });
  }
}
