import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { isLoopback, type Config } from './config.js';
import { Engine } from './engine/engine.js';
import { GraphQLContext, type Services } from './graphql/context.js';
import { schema } from './graphql/schema.js';
import { FailureLog } from './observability/failure-log.js';
import { createLogger, type Logger } from './observability/logger.js';
import { Metrics } from './observability/metrics.js';
import { Connections } from './server/connections.js';
import { createMaskError } from './server/errors.js';
import { GraphiqlPage } from './server/graphiql.js';
import { Health } from './server/health.js';
import { HttpServer } from './server/http.js';
import { Operations } from './server/operations.js';
import { OriginPolicy } from './server/origins.js';
import { PATHS } from './server/paths.js';
import { PeerWatch } from './server/peer-watch.js';
import { closeAll, shutDown, type Closer } from './server/shutdown.js';
import { WebSocketTransport } from './server/websocket.js';
import { reasonFor } from './store/fault-reasons.js';
import { StoreUnavailable } from './store/lock-store.js';
import { openStore, type StoreOptions } from './store/open-store.js';
import { openPrismaClient } from './store/prisma-clients.js';

export interface App {
  /** Of the GraphQL endpoint, with the port that was taken. */
  readonly url: string;
  /** Answers what is under way, tells streams that the server is going away, and lets go of everything. Called once. */
  close(): Promise<void>;
}

/** What a process has one of, and tests replace. */
export interface AppParts {
  readonly logger?: Logger;
  /** A time that is set by hand. */
  readonly time?: StoreOptions['time'];
  /** false: a POST of JSON takes Yoga's way, as everything else does, so that the two can be compared. */
  readonly shortWay?: boolean;
}

/**
 * Brings the database up to date, connects all parts and listens.
 *
 * @throws UnusableDatabase where the database can't be used, and Node's error where the address can't be listened on.
 * Then everything that was opened is closed again.
 */
export async function startApp(config: Config, parts: AppParts = {}): Promise<App> {
  const logger = parts.logger ?? createLogger(config.logLevel);
  const closers: Closer[] = [];
  const closeServices = () => closeAll(closers);
  try {
    const { services, metrics } = await openServices(config, { ...parts, logger }, closers);
    const { http, ...transports } = createTransports(config, services, metrics, { ...parts, logger });
    http.server.listen(config.port, config.host);
    await once(http.server, 'listening');
    const url = urlOf(http.server.address() as AddressInfo);
    return { url, close: () => shutDown({ http, ...transports, stopWaiting: () => services.engine.stopWaiting(), closeServices }) };
  } catch (error) {
    await closeServices().catch((closing: unknown) => logger.error({ err: closing }, 'a start that failed left something open'));
    throw error;
  }
}

async function openServices(config: Config, { logger, time }: AppParts & { logger: Logger }, closers: Closer[]) {
  const { databaseUrl, listenUrl, retryWindowMs, defaultTtlMs, maxTtlMs, maxWaitMs } = config;
  const store = await openStore({ databaseUrl, listenUrl, retryWindowMs, time, onListening: logListening(config, logger) });
  closers.push(() => store.close());
  const failures = new FailureLog(logger, { outageIn, tryAgain: async () => engine.check() });
  const metrics = new Metrics(
    () => store.countHeld(),
    (error) => failures.failed(error),
  );
  const prisma = await openPrismaClient(databaseUrl);
  closers.push(() => prisma.$disconnect());
  // Prisma's first query takes longer than all that a start does: it is made before anybody waits for it.
  await prisma.lockClock.findFirst();
  const engine = await Engine.start(store, metrics, { retention: config.retention });
  // It closes the store as well, for which once more does no harm.
  closers.push(() => {
    failures.close();
    return engine.close();
  });
  const limits = { defaultTtlMs, maxTtlMs, maxWaitMs, retryWindowMs };
  const services: Services = { engine, prisma, version: readVersion(), limits };
  return { services, metrics };
}

/** Null: the error is no outage. */
function outageIn(error: unknown): string | null {
  if (!(error instanceof StoreUnavailable)) return null;
  return error.cause === undefined ? error.message : `${error.message}: ${reasonFor(error.cause)}`;
}

function logListening({ databaseUrl, listenUrl }: Config, logger: Logger): StoreOptions['onListening'] {
  const variable = listenUrl === databaseUrl ? 'DATABASE_URL' : 'LISTEN_DATABASE_URL';
  return (reason) => {
    if (reason === null) logger.info(`${variable}: changes of other instances are told at once again`);
    else logger.warn(`${variable}: changes of other instances are only looked for once a second, as LISTEN fails: ${reason}`);
  };
}

function createTransports(
  config: Config,
  services: Services,
  metrics: Metrics,
  { logger, shortWay = true }: AppParts & { logger: Logger },
) {
  const maskError = createMaskError(logger, metrics);
  const { introspection, allowedOrigins, allowedHosts, host, limits } = config;
  const operations = new Operations({
    schema,
    createContext: (caller) => new GraphQLContext(services, caller),
    introspection,
    limits,
    maskError,
    metrics,
  });
  const origins = new OriginPolicy({ allowedOrigins, allowedHosts, loopbackOnly: isLoopback(host) });
  // The start applied the schema, so an answer of the database is all that is left to ask for.
  const health = new Health(() => services.engine.check());
  const graphiql = config.graphiql ? new GraphiqlPage() : null;
  const connections = new Connections(limits.connections, metrics);
  const common = { operations, limits, origins, metrics, logger, connections, peers: new PeerWatch() };
  const http = new HttpServer({ ...common, maskError, health, graphiql, shortWay });
  const webSockets = new WebSocketTransport(http.server, common);
  return { health, http, webSockets, operations };
}

function urlOf({ address, family, port }: AddressInfo): string {
  const host = family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${port}${PATHS.graphql}`;
}

function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return version;
}
