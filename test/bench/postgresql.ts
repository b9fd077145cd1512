import pg from 'pg';
import type { Engine as EngineType } from '../../src/engine/engine.js';
import { acquire, release } from '../support/commands.js';
import { PostgresqlServerProcess } from '../support/postgresql/server-process.js';
import { Engine, openStore } from './built.js';
import { benchDirectory, fdatasyncMs, median, medians, ms, ratio, runLanes, table, whole, type Measured } from './measure.js';
import { CREATE_TABLES, LOGGED, PLAIN, type StatementPair } from './postgresql-statements.js';
import { RETENTION } from './retention.js';
import { SilentObserver } from './silent-observer.js';

const RUNS = 5;
const RUN_MS = 2000;
const WARM_UP_MS = 1000;
const LOG_EVENTS = 1_000_000;
const NAMES_PER_LANE = 10;
const RETRY_WINDOW_MS = 600_000;

/**
 * The writer on PostgreSQL, against what a careful user would write by hand with the same driver: one prepared statement
 * for each operation, on tables of its own, of two kinds. Durable all of them.
 */
export async function benchPostgresql(): Promise<void> {
  const directory = benchDirectory();
  const server = await PostgresqlServerProcess.create({ fsync: 'on', shared_buffers: '512MB', max_wal_size: '4GB' });
  try {
    await (await openStore({ databaseUrl: server.url, retryWindowMs: RETRY_WINDOW_MS })).close();
    await fill(server.url);
    const fdatasync = fdatasyncMs(directory.path);
    console.log(
      `\nPostgreSQL, ${whole(LOG_EVENTS)} events in the log, durable, medians of ${RUNS} runs; fdatasync of 4 KiB: ${ms(fdatasync)}\n`,
    );
    await benchRates(server.url);
    await benchWatch(server.url);
  } finally {
    await server.remove();
    directory.remove();
  }
}

const CONTENDERS = {
  'a statement each, 1 lane': (url: string) => runStatements(url, PLAIN, 1, 1),
  'a statement each, 1 connection, 64 lanes': (url: string) => runStatements(url, PLAIN, 1, 64),
  'a statement each, 16 connections, 64 lanes': (url: string) => runStatements(url, PLAIN, 16, 64),
  'the same with tokens and a log, 1 lane': (url: string) => runStatements(url, LOGGED, 1, 1),
  'the same with tokens and a log, 1 connection, 64 lanes': (url: string) => runStatements(url, LOGGED, 1, 64),
  'the same with tokens and a log, 16 connections, 64 lanes': (url: string) => runStatements(url, LOGGED, 16, 64),
  'writer, 1 lane': (url: string) => runWriters(url, 1, 1),
  'writer, 16 lanes': (url: string) => runWriters(url, 1, 16),
  'writer, 64 lanes': (url: string) => runWriters(url, 1, 64),
  'writer, 256 lanes': (url: string) => runWriters(url, 1, 256),
  '3 instances, 64 lanes in all': (url: string) => runWriters(url, 3, 64),
  '3 instances, 256 lanes in all': (url: string) => runWriters(url, 3, 256),
};

async function benchRates(url: string): Promise<void> {
  const runs = new Map<string, Measured[]>(Object.keys(CONTENDERS).map((name) => [name, []]));
  for (let run = 0; run < RUNS; run++) {
    for (const [name, contender] of Object.entries(CONTENDERS)) runs.get(name)?.push(await contender(url));
  }
  const measured = new Map([...runs].map(([name, list]) => [name, medians(list)]));
  const one = measured.get('a statement each, 1 lane');
  const loop = measured.get('a statement each, 1 connection, 64 lanes');
  const rows = [...measured].map(([name, { perSecond, p50, p99 }]) => [
    name,
    whole(perSecond),
    ratio(perSecond / (loop?.perSecond ?? Number.NaN)),
    ms(p50),
    ratio(p50 / (one?.p50 ?? Number.NaN)),
    ms(p99),
  ]);
  console.log(table(['', 'operations/s', 'to 1 connection', 'p50', 'to 1 lane', 'p99'], rows));
}

async function runStatements(
  url: string,
  { take, give, table }: StatementPair,
  connections: number,
  lanes: number,
): Promise<Measured> {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  const operation = async (lane: number, round: number) => {
    const name = `lane:${lane}:${Math.floor(round / 2) % NAMES_PER_LANE}`;
    const { rowCount } = await pool.query(round % 2 === 0 ? take(name, `owner:${lane}`) : give(name, `owner:${lane}`));
    if (rowCount !== 1) throw new Error(`${name} was not changed`);
  };
  await runLanes(lanes, WARM_UP_MS, operation);
  await pool.query(`DELETE FROM ${table}`);
  const measured = await runLanes(lanes, RUN_MS, operation);
  await pool.query(`DELETE FROM ${table}`);
  await pool.end();
  return measured;
}

async function runWriters(url: string, instances: number, lanes: number): Promise<Measured> {
  const engines = await Promise.all(Array.from({ length: instances }, () => startEngine(url)));
  const operation = async (lane: number, round: number) => {
    const name = `lane:${lane}:${Math.floor(round / 2) % NAMES_PER_LANE}`;
    const owner = `owner:${lane}`;
    const { kind } = await engineOf(engines, lane).submit(round % 2 === 0 ? acquire(name, owner) : release(name, owner));
    if (kind !== (round % 2 === 0 ? 'acquired' : 'released')) throw new Error(`${name}: ${kind}`);
  };
  await runLanes(lanes, WARM_UP_MS, operation);
  const measured = await runLanes(lanes, RUN_MS, operation);
  await Promise.all(engines.map((engine) => engine.close()));
  return measured;
}

async function startEngine(databaseUrl: string, listenUrl: string | null = databaseUrl): Promise<EngineType> {
  const store = await openStore({ databaseUrl, listenUrl, retryWindowMs: RETRY_WINDOW_MS });
  return Engine.start(store, new SilentObserver(), { retention: RETENTION });
}

function engineOf(engines: readonly EngineType[], lane: number): EngineType {
  return engines[lane % engines.length] as EngineType;
}

const CHANGES_PER_SECOND = 500;
const PACE_MS = 10;
const WATCH_MS = 5000;

/** From the call that makes a change on one instance to the watcher on another one. */
async function benchWatch(url: string): Promise<void> {
  const rows: string[][] = [];
  for (const [name, listenUrl] of [['told by NOTIFY', url] as const, ['found by polling alone', null] as const]) {
    const runs: { p50: number; p99: number; max: number }[] = [];
    for (let run = 0; run < RUNS; run++) runs.push(await watchOther(url, listenUrl));
    const of = (figure: 'p50' | 'p99' | 'max') => ms(median(runs.map((run) => run[figure])));
    rows.push([name, of('p50'), of('p99'), of('max')]);
  }
  console.log(`\nA change on one instance, seen by a watcher on another, at ${CHANGES_PER_SECOND} changes a second\n`);
  console.log(table(['', 'p50', 'p99', 'longest'], rows));
}

async function watchOther(url: string, listenUrl: string | null): Promise<{ p50: number; p99: number; max: number }> {
  const changing = await startEngine(url);
  const watching = await startEngine(url, listenUrl);
  const selector = { resource: null, prefix: 'watched:', owner: null };
  const watch = watching.watch({ selector, types: new Set(['ACQUIRED']), after: null, logId: null, snapshot: false });
  const sentAt = new Map<string, number>();
  const delays: number[] = [];
  const reading = (async () => {
    for await (const item of watch) {
      const sent = item.kind === 'event' ? sentAt.get(item.event.resource) : undefined;
      if (sent !== undefined) delays.push(performance.now() - sent);
    }
  })();
  const changes: Promise<unknown>[] = [];
  const startedAt = performance.now();
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = ((performance.now() - startedAt) / 1000) * CHANGES_PER_SECOND;
      while (sentAt.size < due) {
        const name = `watched:${startedAt}:${sentAt.size}`;
        sentAt.set(name, performance.now());
        changes.push(changing.submit(acquire(name, 'owner', { ttlMs: 600_000 })));
      }
      if (performance.now() - startedAt < WATCH_MS) return;
      clearInterval(timer);
      resolve();
    }, PACE_MS);
  });
  await Promise.all(changes);
  for (const deadline = performance.now() + 3000; delays.length < sentAt.size && performance.now() < deadline;) {
    await new Promise((resolve) => setTimeout(resolve, PACE_MS));
  }
  await watch.return?.();
  await reading;
  await Promise.all([changing.close(), watching.close()]);
  if (delays.length !== sentAt.size) throw new Error(`${sentAt.size} changes, ${delays.length} seen`);
  delays.sort((a, b) => a - b);
  const quantile = (q: number) => delays[Math.min(delays.length - 1, Math.floor(delays.length * q))] ?? Number.NaN;
  return { p50: quantile(0.5), p99: quantile(0.99), max: quantile(1) };
}

/** A log of that many events, of locks that were released long ago. */
async function fill(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`
    ${CREATE_TABLES};
    INSERT INTO lock_events (segment, revision, type, at, written_at, resource, owner, fencing_token, acquired_at, expires_at)
    SELECT r / 4096, r, CASE WHEN r % 2 = 1 THEN 'ACQUIRED' ELSE 'RELEASED' END, t, t,
           'job:' || md5(((r + 1) / 2)::text), 'owner:' || (r / 2) % 1000, (r - 1) / 2 * 2 + 1, t, t + 86400000
      FROM generate_series(1, ${LOG_EVENTS}) AS r, (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS t) AS now;
    INSERT INTO logged_events SELECT * FROM lock_events;
    UPDATE logged_clock SET revision = ${LOG_EVENTS};
    UPDATE lock_clock SET revision = ${LOG_EVENTS}, at = floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
    CHECKPOINT`);
  await client.query('VACUUM ANALYZE');
  await client.end();
}
