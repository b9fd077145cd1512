import pg from 'pg';

/** Shown in pg_stat_activity, so that whoever runs the database can tell whose connections these are. */
export const APPLICATION_NAME = 'holdfast';

/** A server that takes no connection within this is not there for us. Covers the wait for a free connection of a pool, too. */
const CONNECT_TIMEOUT_MS = 3000;

/** What a connection of any kind begins with. It sets nothing in the session that a pooler could lose. */
export function connectionConfig(databaseUrl: string): pg.ClientConfig {
  return {
    connectionString: databaseUrl,
    application_name: APPLICATION_NAME,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  };
}

/** @param queryTimeoutMs after which an answer counts as lost, with its connection. */
export function poolConfig(databaseUrl: string, max: number, queryTimeoutMs: number): pg.PoolConfig {
  return { ...connectionConfig(databaseUrl), max, min: 0, idleTimeoutMillis: 0, query_timeout: queryTimeoutMs };
}

/** A pool that opens connections when they are needed, and anew after they were lost; columns of 64 bits come as bigint. */
export function openPool(databaseUrl: string, max: number, queryTimeoutMs: number): pg.Pool {
  const pool = new pg.Pool({ ...poolConfig(databaseUrl, max, queryTimeoutMs), types: typeParsers() });
  // An idle connection that breaks leaves the pool; whoever needs one next gets another.
  pool.on('error', () => undefined);
  // One that breaks in somebody's hands fails what is asked of it. It says so, too, and the pool does not listen meanwhile.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

function typeParsers(): pg.CustomTypesConfig {
  const parsers = new pg.TypeOverrides();
  parsers.setTypeParser(pg.types.builtins.INT8, BigInt);
  return parsers;
}
