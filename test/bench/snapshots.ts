import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { WebSocket } from 'ws';
import { PostgresqlServerProcess } from '../support/postgresql/server-process.js';
import { openStore } from './built.js';
import { fillLocks } from './fill.js';
import { benchDirectory, fdatasyncMs, median, medians, ms, ratio, runLanes, table, whole, type Measured } from './measure.js';
import { acquireBody, expectAnswer, releaseBody } from './operations.js';
import { startHoldfastOn } from './processes.js';
import { WebSocketLanes } from './websocket-lanes.js';

const RUNS = 5;
const RUN_MS = 4000;
const WARM_UP_MS = 2000;
const LANES = 64;
const LOCKS = 100_000;

const WATCH =
  'subscription{lockChanges{...on LockSnapshot{revision complete locks{resource owner fencingToken expiresAt revision}}}}';

/** What those who change locks notice of watchers that take snapshots of very many, one after the other without a pause. */
export async function benchSnapshots(): Promise<void> {
  const directory = benchDirectory();
  const server = await PostgresqlServerProcess.create({ fsync: 'on', shared_buffers: '512MB', max_wal_size: '4GB' });
  try {
    const file = join(directory.path, 'locks.db');
    const urls = { SQLite: `file:${file}`, PostgreSQL: server.url };
    for (const url of Object.values(urls)) await (await openStore({ databaseUrl: url, retryWindowMs: 600_000 })).close();
    fillLocks(file, 0, LOCKS);
    await fillPostgresql(server.url);
    for (const [name, url] of Object.entries(urls)) await compare(name, url, fdatasyncMs(directory.path));
  } finally {
    await server.remove();
    directory.remove();
  }
}

async function compare(name: string, databaseUrl: string, fdatasync: number): Promise<void> {
  const holdfast = await startHoldfastOn(databaseUrl);
  const socket = await WebSocketLanes.open(holdfast.url);
  const change = async (lane: number, round: number) => {
    const [resource, owner] = [`changing:${lane}`, `owner:${lane}`];
    if (round % 2 === 0) expectAnswer(await socket.run(acquireBody(resource, owner)), 'LockAcquired');
    else expectAnswer(await socket.run(releaseBody(resource, owner)), 'LockReleased');
  };
  await runLanes(LANES, WARM_UP_MS, change);
  await takeSnapshots(holdfast.url, WARM_UP_MS);
  const alone: Measured[] = [];
  const beside: Measured[] = [];
  const idleSnapshots: number[] = [];
  const busySnapshots: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    alone.push(await runLanes(LANES, RUN_MS, change));
    idleSnapshots.push(...(await takeSnapshots(holdfast.url, RUN_MS)));
    const [changes, snapshots] = await Promise.all([runLanes(LANES, RUN_MS, change), takeSnapshots(holdfast.url, RUN_MS)]);
    beside.push(changes);
    busySnapshots.push(...snapshots);
  }
  const atEnd = holdfast.residentMb();
  socket.close();
  await holdfast.stop();
  const [before, during] = [medians(alone), medians(beside)];
  console.log(
    `\n${name}: acquire and release over WebSocket, ${LANES} lanes, ${whole(LOCKS)} locks held, medians of ${RUNS} runs; fdatasync of 4 KiB: ${ms(fdatasync)}\n`,
  );
  const row = (what: string, { perSecond, p50, p99 }: Measured) => [
    what,
    whole(perSecond),
    ratio(perSecond / before.perSecond),
    ms(p50),
    ms(p99),
    ratio(p99 / before.p99),
  ];
  const header = ['', 'operations/s', 'to alone', 'p50', 'p99', 'to alone'];
  console.log(table(header, [row('alone', before), row('beside snapshots without a pause', during)]));
  console.log(
    `\nA snapshot: ${ms(median(idleSnapshots))} alone, ${ms(median(busySnapshots))} beside these; the service takes ${whole(atEnd)} MB`,
  );
}

/** Watches that end as soon as their snapshot is complete, one after the other for so long; how long each took, in milliseconds. */
async function takeSnapshots(url: URL, durationMs: number): Promise<number[]> {
  const socket = new WebSocket(`ws://${url.host}${url.pathname}`, 'graphql-transport-ws', { perMessageDeflate: false });
  await once(socket, 'open');
  socket.send('{"type":"connection_init"}');
  await once(socket, 'message');
  const times: number[] = [];
  const endsAt = performance.now() + durationMs;
  for (let id = 0; performance.now() < endsAt; id++) {
    const startedAt = performance.now();
    socket.send(JSON.stringify({ id: String(id), type: 'subscribe', payload: { query: WATCH } }));
    await new Promise<void>((resolve) => {
      const take = (data: Buffer) => {
        if (!data.subarray(0, 200).includes('"complete":true')) return;
        socket.off('message', take);
        resolve();
      };
      socket.on('message', take);
    });
    times.push(performance.now() - startedAt);
    socket.send(JSON.stringify({ id: String(id), type: 'complete' }));
  }
  socket.terminate();
  return times;
}

async function fillPostgresql(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`
    INSERT INTO distributed_locks (resource, owner, fencing_token, revision, acquired_at, expires_at, ttl_ms, reacquired, expiry_recorded)
    SELECT 'job:' || md5(n::text), 'owner:' || n % 1000, n, n, t, t + 86400000, 86400000, false, false
      FROM generate_series(1, ${LOCKS}) AS n, (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS t) AS now;
    UPDATE lock_clock SET revision = ${LOCKS}, oldest_revision = ${LOCKS}`);
  await client.query('VACUUM ANALYZE');
  await client.end();
}
