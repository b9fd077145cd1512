import { ConfigError, databaseUrlOf } from './config.js';
import { providerOf, sqlitePath } from './store/database-url.js';
import { backUp } from './store/sqlite/backup.js';
import { restore } from './store/sqlite/restore.js';
import { UnusableDatabase } from './store/unusable-database.js';

const USAGE = `Usage, for SQLite:
  npm run backup -- FILE     write a consistent copy of the database to FILE, while the server runs
  npm run restore -- FILE    put the copy in FILE in the database's place, while no server runs

Usage, for PostgreSQL, which has tools of its own to copy a database and put it back (pg_dump, pg_restore):
  npm run restore            after a restore, or after a replica took over that may have lacked the newest changes: make
                             fencing tokens go on above all earlier ones, and tell whoever watches

The database is the one that DATABASE_URL names; file:./holdfast.db if it is not set.`;

const POSTGRESQL_FILES = `DATABASE_URL names a PostgreSQL database, which this does not write to a file or read from one:
  pg_dump --format=custom --file=FILE URL         to back it up
  pg_restore --clean --if-exists --dbname=URL FILE    to put it back, while no server runs; then, without a file:
  npm run restore                                 so that fencing tokens go on above all earlier ones`;

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof ConfigError) && !(error instanceof UnusableDatabase) && !isSystemError(error)) throw error;
  console.error(error.message);
  process.exitCode = EXIT_FAILED;
}

async function main(args: readonly string[]): Promise<number> {
  const [command, file, ...more] = args;
  if (command === '--help' || command === '-h') {
    console.log(USAGE);
    return 0;
  }
  const databaseUrl = databaseUrlOf(process.env);
  const isPostgresql = providerOf(databaseUrl) === 'postgresql';
  if (isPostgresql && command === 'restore' && file === undefined) await runNewHistory(databaseUrl);
  else if (!isPostgresql && command === 'backup' && file !== undefined && more.length === 0)
    runBackup(sqlitePath(databaseUrl), file);
  else if (!isPostgresql && command === 'restore' && file !== undefined && more.length === 0)
    await runRestore(sqlitePath(databaseUrl), file);
  else {
    console.error(isPostgresql && file !== undefined ? POSTGRESQL_FILES : USAGE);
    return EXIT_USAGE;
  }
  return 0;
}

async function runNewHistory(databaseUrl: string): Promise<void> {
  const { beginNewHistory } = await import('./store/postgresql/new-history.js');
  const { revision, logId } = await beginNewHistory(databaseUrl);
  console.log(`A new history begins: revision ${revision}, log ${logId}`);
}

function runBackup(databasePath: string, file: string): void {
  const bytes = backUp(databasePath, file);
  console.log(`Backed up ${databasePath} to ${file} (${bytes} bytes)`);
}

async function runRestore(databasePath: string, file: string): Promise<void> {
  const { revision, logId, keptAside } = await restore(file, databasePath);
  console.log(`Restored ${databasePath} from ${file}: revision ${revision}, log ${logId}`);
  for (const path of keptAside) console.log(`The replaced database is kept as ${path}`);
}

/** What the operating system or SQLite said: its own sentence is enough, our stack would add nothing. */
function isSystemError(error: unknown): error is Error {
  const { code } = error as { code?: unknown };
  // Node's ERR_ codes stand for mistakes of the program.
  return error instanceof Error && typeof code === 'string' && !code.startsWith('ERR_');
}
