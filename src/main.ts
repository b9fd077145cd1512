#!/usr/bin/env node
import { ConfigError, readConfig, type Config } from './config.js';
import { createLogger } from './observability/logger.js';
import { closeOnSignal } from './server/shutdown.js';
import { databaseName } from './store/database-url.js';
import { StoreUnavailable } from './store/lock-store.js';
import { UnusableDatabase } from './store/unusable-database.js';

/** What a shell shows of a start that could not be made: one line for each problem, and no stack. */
function refuseToStart(problems: readonly string[]): never {
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exit(1);
}

function configure(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (error instanceof ConfigError) refuseToStart(error.problems);
    throw error;
  }
}

/** What keeps a start from succeeding without being a fault of the program: the sentence to show, else null. */
function reasonOf(error: unknown, { host, port }: Config): string | null {
  if (error instanceof UnusableDatabase || error instanceof StoreUnavailable) return error.message;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return null;
  if (code === 'EADDRINUSE') return `PORT=${port}: another program listens there already`;
  return `HOST=${host}, PORT=${port}: can't listen there (${code})`;
}

const config = configure();
const logger = createLogger(config.logLevel);
// graphql-js reads this as it is loaded: in every other mode it checks each value for a second copy of itself, on each use.
process.env['NODE_ENV'] ??= 'production';
const { startApp } = await import('./app.js');
try {
  const app = await startApp(config, { logger });
  closeOnSignal(() => app.close(), logger);
  logger.info({ database: databaseName(config.databaseUrl) }, `listening on ${app.url}`);
} catch (error) {
  const reason = reasonOf(error, config);
  if (reason === null) throw error;
  refuseToStart([reason]);
}
