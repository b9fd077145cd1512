import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import { checkSqliteFile, providerOf, sqlitePath } from './database-url.js';
import { PrismaClient } from './generated/sqlite/client.js';

/** SQLite's ids are 64 bit, Prisma's Int is not: the one column nobody reads is never selected. */
const OMIT = { distributedLock: { id: true } } as const;

/** The client of either database, in the type of SQLite's. It reads; what changes a lock goes through the store. */
export type PrismaReader = PrismaClient<never, typeof OMIT>;

/**
 * Opens Prisma's client on the database, whose schema has to be up to date. It connects with its first query; `$disconnect`
 * closes it.
 *
 * @throws UnusableDatabase where the URL is none, or the SQLite file can't be opened.
 */
export async function openPrismaClient(databaseUrl: string): Promise<PrismaReader> {
  if (providerOf(databaseUrl) === 'postgresql') return openPostgresqlClient(databaseUrl);
  const path = sqlitePath(databaseUrl);
  checkSqliteFile(path);
  return new PrismaClient({ adapter: new PrismaBetterSqlite3({ url: path, fileMustExist: true, readonly: true }), omit: OMIT });
}

/** Together with the store's own connections this makes ten for an instance, or a few less. */
const CONNECTIONS = 3;
/** After which a read counts as lost. */
const READ_TIMEOUT_MS = 4000;

/** The driver is loaded only where it is used. The two schemas hold the same models, so the clients answer alike. */
async function openPostgresqlClient(databaseUrl: string): Promise<PrismaReader> {
  const [{ PrismaPg }, postgresql, { openPool, nameOutages }] = await Promise.all([
    import('@prisma/adapter-pg'),
    import('./generated/postgresql/client.js'),
    import('./postgresql/connections.js'),
  ]);
  // Prisma hands on whatever its adapter does not know: a time-out, say, as an error like any other.
  const pool = nameOutages(openPool(databaseUrl, CONNECTIONS, READ_TIMEOUT_MS));
  const adapter = new PrismaPg(pool, { disposeExternalPool: true });
  return new postgresql.PrismaClient({ adapter, omit: OMIT }) as unknown as PrismaReader;
}
