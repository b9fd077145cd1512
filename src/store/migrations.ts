import { setTimeout as sleep } from 'node:timers/promises';
import { isDriverAdapterError, type SqlDriverAdapter } from '@prisma/driver-adapter-utils';
import type { MigrationList } from '@prisma/schema-engine-wasm/schema_engine_bg';
import { providerOf, sqlitePath } from './database-url.js';
import { driverMessage, failedWith, type EngineConnection, type MigrationConnection } from './migrations/connection.js';
import { compareHistory, type HistoryStatus } from './migrations/history.js';
import { MIGRATIONS_ROOT, readMigrations } from './migrations/migration-folders.js';
import { openSchemaEngine } from './migrations/schema-engine.js';
import { openSqliteConnection } from './migrations/sqlite-connection.js';
import { UnusableDatabase } from './unusable-database.js';

/** How long a start waits for the migrations of another process. */
const BUSY_WAIT_MS = 60_000;
const BUSY_POLL_MS = 20;

/** What Prisma's engine answers for a database that has tables but no record of migrations. */
const SCHEMA_NOT_EMPTY = 'P3005';

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Brings the schema of the database up to date, and creates the database where SQLite has none. All that is missing is
 * applied in one transaction, by one process at a time: a process that dies meanwhile leaves the database as it was.
 * Attempts that others (Prisma's CLI) left unfinished are marked rolled back and repeated.
 *
 * @param root the directory with a folder of migrations for each kind of database.
 * @returns the names of the migrations that were applied, oldest first; none where it was up to date.
 * @throws UnusableDatabase where it is newer than this program, is not Holdfast's, or can't be opened. It is unchanged then.
 */
export async function applyMigrations(databaseUrl: string, root: string = MIGRATIONS_ROOT): Promise<readonly string[]> {
  const migrations = readMigrations(root, providerOf(databaseUrl));
  const deadline = Date.now() + BUSY_WAIT_MS;
  for (;;) {
    // Opened anew each time: meanwhile the path may have come to name another file.
    const connection = await open(databaseUrl).catch((error: unknown) => {
      throw explained(error, false);
    });
    try {
      return await bringUpToDate(connection, migrations);
    } catch (error) {
      const isBusy = connection.isBusy(error);
      if (!isBusy || Date.now() >= deadline) throw explained(error, isBusy);
    } finally {
      await connection.close();
    }
    await sleep(BUSY_POLL_MS);
  }
}

async function open(databaseUrl: string): Promise<MigrationConnection> {
  if (providerOf(databaseUrl) === 'sqlite') return openSqliteConnection(sqlitePath(databaseUrl));
  // Its driver takes longer to load than a start on SQLite needs for all of this.
  const { openPostgresqlConnection } = await import('./migrations/postgresql-connection.js');
  return openPostgresqlConnection(databaseUrl);
}

async function bringUpToDate(connection: MigrationConnection, migrations: MigrationList): Promise<readonly string[]> {
  if ((await status(connection, migrations)).pending.length === 0) return [];
  await connection.begin();
  // Another process may have done it before this one got the lock.
  const { pending, unfinished } = await status(connection, migrations);
  if (pending.length === 0) return [];
  const applied = await applyPending(connection.engineConnection, migrations, unfinished);
  await connection.commit();
  return applied;
}

async function status(connection: MigrationConnection, migrations: MigrationList): Promise<HistoryStatus> {
  const known = migrations.migrationDirectories.map((directory) => directory.path);
  const result = compareHistory(known, await connection.records());
  if (result.unknown.length > 0) {
    const names = result.unknown.join(', ');
    throw new UnusableDatabase('NEWER', `The database was changed by a newer version of Holdfast (${names}): use that version`);
  }
  return result;
}

async function applyPending(
  connection: EngineConnection,
  migrationsList: MigrationList,
  unfinished: readonly string[],
): Promise<readonly string[]> {
  const failures: unknown[] = [];
  const engine = await openSchemaEngine(connectionFactory(connection, failures));
  try {
    for (const migrationName of unfinished) await engine.markMigrationRolledBack({ migrationName });
    const filters = { externalTables: [], externalEnums: [] };
    return (await engine.applyMigrations({ migrationsList, filters })).appliedMigrationNames;
  } catch (error) {
    throw migrationFailed(error, failures[0] ?? error);
  } finally {
    engine.free();
  }
}

/**
 * The engine asks for connections; it gets the one that holds the lock, and can't end what is not its own. Of what
 * fails it may report only the text, or only what followed from that: so the failures are noted here.
 */
function connectionFactory(connection: EngineConnection, failures: unknown[]): Parameters<typeof openSchemaEngine>[0] {
  const refuse = () => Promise.reject(new Error('Migrations run in one transaction, on one connection'));
  const note =
    <Argument, Result>(run: (argument: Argument) => Promise<Result>) =>
    async (argument: Argument) => {
      try {
        return await run(argument);
      } catch (error) {
        failures.push(error);
        throw error;
      }
    };
  const adapter: SqlDriverAdapter = {
    ...connection,
    queryRaw: note((query) => connection.queryRaw(query)),
    executeRaw: note((query) => connection.executeRaw(query)),
    executeScript: note((script) => connection.executeScript(script)),
    startTransaction: refuse,
    dispose: () => Promise.resolve(),
  };
  return {
    provider: connection.provider,
    adapterName: connection.adapterName,
    connect: () => Promise.resolve(adapter),
    connectToShadowDb: refuse,
  };
}

/** The database's own errors in one sentence; whatever else went wrong is said already, or a fault of ours. */
function explained(error: unknown, isBusy: boolean): unknown {
  if (!isDriverAdapterError(error)) return error;
  return isBusy
    ? new UnusableDatabase('IN_USE', 'The database is held by another process that does not let go of it', { cause: error })
    : new UnusableDatabase('INACCESSIBLE', `The database can't be used: ${driverMessage(error)}${missingRight(error)}`, {
        cause: error,
      });
}

function migrationFailed(error: unknown, cause: unknown): UnusableDatabase {
  if ((error as { code?: string }).code === SCHEMA_NOT_EMPTY) {
    return new UnusableDatabase('FOREIGN', 'The database holds tables of something else than Holdfast: name an empty one', {
      cause,
    });
  }
  const [firstLine] = driverMessage(cause).split('\n');
  const message = `The schema could not be brought up to date, and is as it was: ${firstLine}${missingRight(cause)}`;
  return new UnusableDatabase('MIGRATION_FAILED', message, { cause });
}

/** What an account needs that may not do what it has to. */
function missingRight(error: unknown): string {
  if (!failedWith(error, INSUFFICIENT_PRIVILEGE)) return '';
  return '. The account in DATABASE_URL needs the right CREATE on the schema public, or the database itself, and has to own the tables of Holdfast';
}
