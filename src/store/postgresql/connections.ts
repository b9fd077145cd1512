import pg from 'pg';
import { namedFault } from './faults.js';

/** Shown in pg_stat_activity, so that whoever runs the database can tell whose connections these are. */
export const APPLICATION_NAME = 'holdfast';

/** A server that takes no connection within this is not there for us. Covers the wait for a free connection of a pool, too. */
const CONNECT_TIMEOUT_MS = 3000;

/** A connection that nobody uses is shown to be one: to what lies between, which forgets those, and to itself when it is none. */
const KEEP_ALIVE_MS = 10_000;

/** A database that hangs does not answer a goodbye. */
const GOODBYE_MS = 500;

/** What a connection of any kind begins with. */
export function connectionConfig(databaseUrl: string): pg.ClientConfig {
  return {
    connectionString: databaseUrl,
    application_name: APPLICATION_NAME,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  };
}

/**
 * A pool that opens connections when they are needed, and anew after they were lost; columns of 64 bits come as bigint.
 *
 * @param queryTimeoutMs after which an answer counts as lost, with its connection.
 */
export function openPool(databaseUrl: string, max: number, queryTimeoutMs: number): pg.Pool {
  const limits = { max, min: 0, idleTimeoutMillis: 0, query_timeout: queryTimeoutMs };
  const pool = new pg.Pool({ ...connectionConfig(databaseUrl), ...limits, types: typeParsers(), onConnect: setUpSession });
  // An idle connection that breaks leaves the pool; whoever needs one next gets another.
  pool.on('error', () => undefined);
  // One that breaks in somebody's hands fails what is asked of it. It says so, too, and the pool does not listen meanwhile.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * Everything of ours is in the schema `public`, wherever the database or the account would have others look first. A pool waits
 * for what this returns, though its types don't say so.
 */
export const setUpSession: (client: pg.ClientBase) => unknown = (client) =>
  client.query(`SELECT set_config('search_path', 'public', false) WHERE current_schema() IS DISTINCT FROM 'public'`);

/** From now on what fails in this pool for want of the database fails as {@link StoreUnavailable}, also below other libraries. */
export function nameOutages(pool: pg.Pool): pg.Pool {
  const query = pool.query.bind(pool) as (config: pg.QueryConfig) => Promise<pg.QueryResult>;
  const namingQuery = (config: pg.QueryConfig) =>
    query(config).catch((error: unknown) => {
      throw namedFault(error, 'The database could not be read', false);
    });
  return Object.assign(pool, { query: namingQuery });
}

/** The driver knows the number of the server's process that serves a connection; its types don't. */
export function processOf(client: pg.ClientBase): number {
  return (client as unknown as { processID: number }).processID;
}

/** Ends a connection of no pool, whatever state it is in, and whether the database answers or not. */
export async function endConnection(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), GOODBYE_MS);
  await client.end();
  clearTimeout(timer);
}

/** Sends the statements in one message, and returns the rows of those that are queries. */
export async function read(client: pg.PoolClient, statements: readonly string[]): Promise<unknown[][]> {
  const results = (await client.query(statements.join('\n'))) as pg.QueryResult | pg.QueryResult[];
  return [results]
    .flat()
    .filter(({ command }) => command === 'SELECT')
    .map(({ rows }) => rows as unknown[]);
}

function typeParsers(): pg.CustomTypesConfig {
  const parsers = new pg.TypeOverrides();
  parsers.setTypeParser(pg.types.builtins.INT8, BigInt);
  return parsers;
}
