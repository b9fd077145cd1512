import pg from 'pg';
import { applyMigrations } from '../migrations.js';
import { REVISION_JUMP, type NewHistory } from '../new-history.js';
import { UnusableDatabase } from '../unusable-database.js';
import { connectionConfig, setUpSession } from './connections.js';
import { takeLock } from './group-sql.js';

/**
 * Gives a database that lost its newest changes (restored from a backup, or a replica that took over before it had all of
 * them) a new history, whose tokens are above all that may have been handed out. Servers may be running: they go on in it.
 *
 * @throws UnusableDatabase where it can't be reached, is newer than this program, or not Holdfast's.
 */
export async function beginNewHistory(databaseUrl: string): Promise<NewHistory> {
  await applyMigrations(databaseUrl);
  const client = new pg.Client(connectionConfig(databaseUrl));
  // A connection that breaks fails what is asked of it; nobody else needs to hear of it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await setUpSession(client);
    const results = (await client.query(`${takeLock()}
      UPDATE lock_clock
         SET log_id = replace(gen_random_uuid()::text, '-', ''),
             revision = revision + ${REVISION_JUMP},
             oldest_revision = revision + ${REVISION_JUMP}
       WHERE id = 1
      RETURNING log_id, revision, pg_notify('holdfast_log', revision::text);
      COMMIT;`)) as unknown as pg.QueryResult<{ log_id: string; revision: string }>[];
    const [row] = results.find(({ command }) => command === 'UPDATE')?.rows ?? [];
    if (row === undefined) throw new Error('lock_clock has no row');
    return { logId: row.log_id, revision: BigInt(row.revision) };
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    throw new UnusableDatabase('INACCESSIBLE', `The database can't be changed: ${error.message}`, { cause: error });
  } finally {
    await client.end();
  }
}
