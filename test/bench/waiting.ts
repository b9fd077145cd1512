import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresqlServerProcess } from '../support/postgresql/server-process.js';
import { durableCommitOf, durableCommits } from './durable-commit.js';
import {
  benchDirectory,
  fdatasyncMs,
  median,
  medians,
  ms,
  ratio,
  runLanes,
  summary,
  table,
  whole,
  type Measured,
} from './measure.js';
import { acquireAllBody, acquireBody, expectAnswer, releaseAllBody, releaseBody, renewAllBody, waitingBody } from './operations.js';
import { COLLECTS_GARBAGE, startHoldfast, startHoldfastOn, type ServerProcess } from './processes.js';
import { WebSocketLanes } from './websocket-lanes.js';

const RUNS = 5;
const RUN_MS = 5000;
const LANES = 16;
const HOLD_MS = 1;
const WAIT_MS = 60_000;
const NAMES = 100;
const OWN_LOCKS = 500;
const WAITERS = 10_000;
const WAITED_FOR = 1000;
const SETTLE_MS = 30_000;
/** Within this all is freed that can be. */
const COLLECTION_MS = 2_000;
const POLL_MS = 10;

/** Standing in line and many locks at once, durable, over WebSocket. */
export async function benchWaiting(): Promise<void> {
  const directory = benchDirectory();
  const commitMs = durableCommits(directory.path).p50;
  console.log(
    `\nWaiting, medians of ${RUNS} runs; fdatasync of 4 KiB: ${ms(fdatasyncMs(directory.path))}; a bare durable commit on SQLite: ${ms(commitMs)}\n`,
  );
  try {
    const server = await startHoldfast(join(directory.path, 'locks.db'));
    const rows = [await handOvers('SQLite, one instance', [server], commitMs)];
    const many = await benchMany(server);
    await server.stop();
    rows.push(await onPostgresql());
    console.log(
      `From a release to the answer of the next in line: ${LANES} callers of one name, each holds it for ${HOLD_MS} ms\n`,
    );
    console.log(table(['', 'hand-overs/s', 'p50', 'to a bare durable commit', 'p99', 'turns of the lanes'], rows));
    console.log(`\n${many}`);
    await benchCrowd(directory.path);
  } finally {
    directory.remove();
  }
}

/** Callers take turns on two instances: each lock is handed on to the other one. */
async function onPostgresql(): Promise<string[]> {
  const postgresql = await PostgresqlServerProcess.create({ fsync: 'on', shared_buffers: '512MB', max_wal_size: '4GB' });
  try {
    const commitMs = await durableCommitOf(postgresql.url);
    const servers = [await startHoldfastOn(postgresql.url), await startHoldfastOn(postgresql.url)];
    const row = await handOvers('PostgreSQL, the next in line on another instance', servers, commitMs);
    for (const server of servers) await server.stop();
    return row;
  } finally {
    await postgresql.remove();
  }
}

interface HandOvers extends Measured {
  /** How often each lane had its turn. */
  readonly turns: readonly number[];
}

async function handOvers(name: string, servers: readonly ServerProcess[], commitMs: number): Promise<string[]> {
  const runs: HandOvers[] = [];
  for (let run = 0; run < RUNS; run++) runs.push(await handOver(servers, `handed-on:${run}`));
  const { perSecond, p50, p99 } = medians(runs);
  const turns = runs.flatMap((run) => run.turns.map((count) => count / median(run.turns)));
  return [
    name,
    whole(perSecond),
    ms(p50),
    ratio(p50 / commitMs),
    ms(p99),
    `${ratio(Math.min(...turns))} to ${ratio(Math.max(...turns))} of the median lane's`,
  ];
}

/** One after the other takes the lock, holds it and releases it, and stands in line again. */
async function handOver(servers: readonly ServerProcess[], resource: string): Promise<HandOvers> {
  const sockets = await Promise.all(Array.from({ length: LANES }, (_, lane) => WebSocketLanes.open(urlOf(servers, lane))));
  const callers = sockets.map((socket, lane) => ({
    acquire: () => socket.run(waitingBody(resource, `lane:${lane}`, WAIT_MS)),
    release: () => socket.run(releaseBody(resource, `lane:${lane}`)),
    firstAnswer: Promise.resolve(''),
  }));
  // One by one, so that the next in line is on another instance.
  for (const [lane, caller] of callers.entries()) {
    caller.firstAnswer = caller.acquire();
    await (lane === 0 ? caller.firstAnswer : standInLine(urlOf(servers, lane), resource, lane));
  }
  const delays: number[] = [];
  const turns = Array<number>(LANES).fill(0);
  let releasedAt = Number.NaN;
  const endsAt = performance.now() + RUN_MS;
  const runLane = async ({ acquire, release, firstAnswer }: (typeof callers)[number], lane: number) => {
    for (let answer = firstAnswer; ; answer = acquire()) {
      expectAnswer(await answer, 'LockAcquired');
      delays.push(performance.now() - releasedAt);
      turns[lane] = (turns[lane] ?? 0) + 1;
      await sleep(HOLD_MS);
      releasedAt = performance.now();
      expectAnswer(await release(), 'LockReleased');
      if (performance.now() >= endsAt) return;
    }
  };
  await Promise.all(callers.map(runLane));
  for (const socket of sockets) socket.close();
  // The first one was handed on by nobody.
  return { ...summary(delays.filter(Number.isFinite), RUN_MS), turns };
}

function urlOf(servers: readonly ServerProcess[], lane: number): URL {
  const server = servers[lane % servers.length];
  if (server === undefined) throw new Error('no server');
  return server.url;
}

/** A hundred names in one call, and all that an owner holds. */
async function benchMany(server: ServerProcess): Promise<string> {
  const socket = await WebSocketLanes.open(server.url);
  const names = (lane: number) => Array.from({ length: NAMES }, (_, n) => `many:${lane}:${n}`);
  const bodies = Array.from({ length: LANES }, (_, lane) => [
    acquireAllBody(names(lane), `lane:${lane}`),
    releaseAllBody(names(lane), `lane:${lane}`),
  ]);
  const runs: Measured[] = [];
  for (let run = 0; run < RUNS; run++) {
    runs.push(
      await runLanes(LANES, RUN_MS, async (lane, round) => {
        const answer = await socket.run(bodies[lane]?.[round % 2] ?? '');
        expectAnswer(answer, round % 2 === 0 ? 'LocksAcquired' : '"notHeld":[]');
      }),
    );
  }
  const { perSecond, p50, p99 } = medians(runs);
  const [renewMs, releaseMs] = await everything(socket);
  socket.close();
  return table(
    ['', 'lock pairs/s', 'p50 of a call', 'p99'],
    [
      [`acquireLocks and releaseLocks of ${NAMES} names, ${LANES} callers`, whole((perSecond / 2) * NAMES), ms(p50), ms(p99)],
      [`renewLocks of all ${OWN_LOCKS} of an owner`, '', ms(renewMs), ''],
      [`releaseLocks of all ${OWN_LOCKS} of an owner`, '', ms(releaseMs), ''],
    ],
  );
}

/** One heartbeat and one release for everything that an owner holds: the medians, in milliseconds. */
async function everything(socket: WebSocketLanes): Promise<[number, number]> {
  const renewals: number[] = [];
  const releases: number[] = [];
  const timed = async (body: string, expected: string) => {
    const askedAt = performance.now();
    expectAnswer(await socket.run(body), expected);
    return performance.now() - askedAt;
  };
  for (let run = 0; run < RUNS; run++) {
    const names = Array.from({ length: OWN_LOCKS }, (_, n) => `own:${n}`);
    await Promise.all(names.map((name) => socket.run(acquireBody(name, 'worker'))));
    renewals.push(await timed(renewAllBody('worker'), '"lost":[]'));
    releases.push(await timed(releaseAllBody(null, 'worker'), '"notHeld":[]'));
  }
  return [median(renewals), median(releases)];
}

/** Ten thousand who stand in line, and what they cost while nothing happens. */
async function benchCrowd(directory: string): Promise<void> {
  // They come all at once.
  const server = await startHoldfastOn(`file:${join(directory, 'crowd.db')}`, {
    ...COLLECTS_GARBAGE,
    MAX_OPERATIONS: String(2 * WAITERS),
  });
  const sockets = await Promise.all(Array.from({ length: LANES }, () => WebSocketLanes.open(server.url)));
  const socketOf = (n: number) => sockets[n % LANES] as WebSocketLanes;
  for (let n = 0; n < WAITED_FOR; n++) await socketOf(n).run(acquireBody(`crowded:${n}`, 'holder', 3_600_000));
  // What a first crowd leaves behind for all that come is not a second one's.
  const crowd = (waitMs: number) =>
    Array.from({ length: WAITERS }, (_, n) => socketOf(n).run(waitingBody(`crowded:${n % WAITED_FOR}`, `waiter:${n}`, waitMs)));
  await Promise.all(crowd(1));
  await sleep(SETTLE_MS);
  const before = await usedBytes(server);
  const groupsBefore = await metric(server, 'holdfast_commit_seconds_count');
  void crowd(300_000);
  await standInLine(server.url, `crowded:${WAITED_FOR - 1}`, WAITERS / WAITED_FOR);
  await sleep(SETTLE_MS);
  const [groups, cpu] = [await metric(server, 'holdfast_commit_seconds_count'), server.cpuSeconds()];
  await sleep(SETTLE_MS);
  const groupsPerSecond = ((await metric(server, 'holdfast_commit_seconds_count')) - groups) / (SETTLE_MS / 1000);
  const busy = (server.cpuSeconds() - cpu) / (SETTLE_MS / 1000);
  const perWaiterKb = ((await usedBytes(server)) - before) / 1024 / WAITERS;
  for (const socket of sockets) socket.close();
  await server.stop();
  console.log(
    `\n${whole(WAITERS)} waiters on ${whole(WAITED_FOR)} names: ${ratio(perWaiterKb)} KB of memory each; while nothing happens ${ratio(groupsPerSecond)} groups a second (${whole(groups - groupsBefore)} to stand in line) and ${ratio(100 * busy)} % of a processor\n`,
  );
}

/** Resolves when so many do. */
async function standInLine(url: URL, resource: string, length: number): Promise<void> {
  const query = `{lock(resource:"${resource}"){queueLength}}`;
  while (!(await ask(url, JSON.stringify({ query }))).includes(`"queueLength":${length}}`)) await sleep(POLL_MS);
}

async function ask(url: URL, body: string): Promise<string> {
  return (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text();
}

/** The memory that is referred to. */
async function usedBytes(server: ServerProcess): Promise<number> {
  server.collectGarbage();
  await sleep(COLLECTION_MS);
  return (await metric(server, 'nodejs_heap_size_used_bytes')) + (await metric(server, 'nodejs_external_memory_bytes'));
}

async function metric({ url }: ServerProcess, name: string): Promise<number> {
  const metrics = await (await fetch(new URL('/metrics', url))).text();
  return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(metrics)?.[1]);
}
