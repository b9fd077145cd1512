import { expect, vi } from 'vitest';
import { startApp } from '../../src/app.js';
import { readConfig } from '../../src/config.js';
import { createLogger } from '../../src/observability/logger.js';
import { createDatabase } from './database.js';
import type { ManualTime } from './manual-time.js';
import { whenOver } from './shared.js';

/** How long it may take until a server knows that its clients are gone. */
const LEAK_TIMEOUT_MS = 5_000;

export interface TestApp {
  /** Of the GraphQL endpoint. */
  readonly url: string;
  /** `http://127.0.0.1:port`, without a path. */
  readonly origin: string;
  readonly databaseUrl: string;
  /** What it logged so far, a line each. */
  readonly logLines: readonly string[];
  /** The value of a metric without labels, as the server tells it. */
  metric(name: string): Promise<number>;
  /** Ends it before the test does. */
  close(): Promise<void>;
}

export interface TestAppOptions {
  /** Variables of the environment that differ from their defaults. */
  readonly env?: Readonly<Record<string, string>>;
  /** Time that moves by hand; left out: the machine's. */
  readonly time?: ManualTime;
  /** false: a POST of JSON takes Yoga's way. */
  readonly shortWay?: boolean;
}

/**
 * The whole service on a real database and a free port. When the test is over it is closed; a watch, a socket or a call in line
 * that is then still there, though its client is gone, fails the test.
 */
export async function startTestApp({ env = {}, time, shortWay = true }: TestAppOptions = {}): Promise<TestApp> {
  const databaseUrl = env['DATABASE_URL'] ?? (await createDatabase());
  const config = readConfig({ DATABASE_URL: databaseUrl, PORT: '0', ...env });
  const logLines: string[] = [];
  const logger = createLogger('debug', { write: (line) => void logLines.push(line) });
  const app = await startApp(config, { logger, shortWay, ...(time === undefined ? {} : { time: time.cells }) });
  const { origin } = new URL(app.url);
  const metric = (name: string) => readMetric(origin, name);

  let isClosed = false;
  const close = async (): Promise<void> => {
    isClosed = true;
    await app.close();
  };
  whenOver(async () => {
    if (isClosed) return;
    try {
      await expectNothingOpen(origin);
    } finally {
      await close();
    }
  });
  return { url: app.url, origin, databaseUrl, logLines, metric, close };
}

/** Several instances of the service on one new database. */
export async function startTestApps(instances: number, { env = {}, ...rest }: TestAppOptions = {}): Promise<TestApp[]> {
  const databaseUrl = await createDatabase();
  const start = () => startTestApp({ ...rest, env: { ...env, DATABASE_URL: databaseUrl } });
  return Promise.all(Array.from({ length: instances }, start));
}

async function readMetric(origin: string, name: string): Promise<number> {
  return valueOf(name, await readMetrics(origin));
}

async function readMetrics(origin: string): Promise<string> {
  return (await fetch(`${origin}/metrics`, { headers: { connection: 'close' } })).text();
}

function valueOf(name: string, metrics: string): number {
  const line = metrics.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  if (line === undefined) throw new Error(`There is no metric ${name}`);
  return Number(line.slice(name.length));
}

async function expectNothingOpen(origin: string): Promise<void> {
  // What a client closed a moment ago may still be on its way to the server.
  await vi.waitFor(async () => {
    const metrics = await readMetrics(origin);
    const open = ['holdfast_watchers', 'holdfast_event_streams', 'holdfast_websockets', 'holdfast_waiting_calls'].filter(
      (name) => valueOf(name, metrics) !== 0,
    );
    expect(open, 'left open').toEqual([]);
  }, LEAK_TIMEOUT_MS);
}
