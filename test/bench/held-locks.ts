import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AcquireCommand, ReleaseCommand, RenewCommand } from '../../src/locks/commands.js';
import { acquire, release, renew } from '../support/commands.js';
import { Engine, openStore } from './built.js';
import { fillLocks, fillLog, holderOf, scatteredName } from './fill.js';
import { HttpLane } from './http-lanes.js';
import { benchDirectory, fdatasyncMs, median, medians, ms, ratio, runLanes, table, whole, type Measured } from './measure.js';
import { acquireBody, expectAnswer, lookBody, releaseBody, renewBody } from './operations.js';
import { startHoldfast } from './processes.js';
import { RETENTION } from './retention.js';
import { SilentObserver } from './silent-observer.js';
import { WebSocketLanes } from './websocket-lanes.js';

const RUNS = 5;
const RUN_MS = 3000;
const WARM_UP_MS = 2000;
const LANES = 256;
const LOG_EVENTS = 1_000_000;
const FEW = 1000;
const MANY = 1_000_000;
const DAY_MS = 86_400_000;

/** The same work with few and with very many locks held, their names drawn uniformly at random. */
export async function benchHeldLocks(): Promise<void> {
  const directory = benchDirectory();
  try {
    const [few, many] = [join(directory.path, 'few.db'), join(directory.path, 'many.db')];
    for (const [file, count] of [
      [few, FEW],
      [many, MANY],
    ] as const) {
      await fillLog(file, LOG_EVENTS);
      fillLocks(file, 0, count);
    }
    const groups: [Measured[], Measured[]] = [[], []];
    const changes: [Measured[], Measured[]] = [[], []];
    const looks: [Measured[], Measured[]] = [[], []];
    for (let run = 0; run < RUNS; run++) {
      for (const [i, [file, count]] of [[few, FEW] as const, [many, MANY] as const].entries()) {
        groups[i]?.push(await changingByEngine(file, count));
        changes[i]?.push(await changing(file, count));
        looks[i]?.push(await looking(file, count));
      }
    }
    console.log(
      `\n${whole(FEW)} and ${whole(MANY)} locks held, medians of ${RUNS} runs; fdatasync of 4 KiB: ${ms(fdatasyncMs(directory.path))}\n`,
    );
    const row = (name: string, [fewRuns, manyRuns]: [Measured[], Measured[]]) => {
      const [a, b] = [medians(fewRuns), medians(manyRuns)];
      return [name, whole(a.perSecond), whole(b.perSecond), ratio(b.perSecond / a.perSecond), ms(a.p50), ms(b.p50)];
    };
    const header = ['operations/s', whole(FEW), whole(MANY), 'ratio', `p50 at ${whole(FEW)}`, `p50 at ${whole(MANY)}`];
    console.log(
      table(header, [
        row(`writer alone: renew, release, acquire; ${LANES} lanes`, groups),
        row(`over WebSocket: renew, release, acquire; ${LANES} lanes`, changes),
        row('over WebSocket: lock(resource); 16 lanes', looks),
      ]),
    );
    await reportService(many);
  } finally {
    directory.remove();
  }
}

/** Each round of a lane renews, releases and acquires one lock that no other lane has at the moment. */
type Command = (AcquireCommand & { readonly wait: null }) | ReleaseCommand | RenewCommand;

async function runChanges(held: number, change: (command: Command) => Promise<unknown>): Promise<Measured> {
  const busy = new Set<number>();
  const { perSecond, p50, p99 } = await runLanes(LANES, RUN_MS, async () => {
    let i;
    do i = Math.floor(Math.random() * held);
    while (busy.has(i));
    busy.add(i);
    const [name, owner] = [scatteredName(i), holderOf(i)];
    for (const command of [renew(name, owner), release(name, owner), acquire(name, owner, { ttlMs: DAY_MS })])
      await change(command);
    busy.delete(i);
  });
  return { perSecond: 3 * perSecond, p50: p50 / 3, p99: p99 / 3 };
}

async function changingByEngine(file: string, held: number): Promise<Measured> {
  const store = await openStore({ databaseUrl: `file:${file}`, retryWindowMs: 600_000 });
  const engine = await Engine.start(store, new SilentObserver(), { retention: RETENTION });
  const measured = await runChanges(held, async (command) => {
    const { kind } = await engine.submit(command);
    if (kind === 'conflict' || kind === 'not-found' || kind === 'forbidden') throw new Error(`${command.kind}: ${kind}`);
  });
  await engine.close();
  return measured;
}

async function changing(file: string, held: number): Promise<Measured> {
  const server = await startHoldfast(file);
  const socket = await WebSocketLanes.open(server.url);
  const measured = await runChanges(held, async (command) => {
    expectAnswer(await socket.run(bodyOf(command)), SUCCESS[command.kind]);
  });
  socket.close();
  await server.stop();
  return measured;
}

const SUCCESS = { acquire: 'LockAcquired', release: 'LockReleased', renew: 'LockRenewed' };

function bodyOf({ kind, resource, owner }: Command): string {
  if (kind === 'acquire') return acquireBody(resource, owner, DAY_MS);
  return kind === 'renew' ? renewBody(resource, owner) : releaseBody(resource, owner);
}

async function looking(file: string, held: number): Promise<Measured> {
  const server = await startHoldfast(file);
  const socket = await WebSocketLanes.open(server.url);
  const look = async () => {
    const answer = await socket.run(lookBody(scatteredName(Math.floor(Math.random() * held))));
    expectAnswer(answer, 'fencingToken');
  };
  // Uncounted: a server that has just started runs its code slowly.
  await runLanes(16, WARM_UP_MS, look);
  const measured = await runLanes(16, RUN_MS, look);
  socket.close();
  await server.stop();
  return measured;
}

/** Pages, and memory after a minute of the work above through the service. */
async function reportService(file: string): Promise<void> {
  const server = await startHoldfast(file);
  const atStart = server.residentMb();
  const lane = await HttpLane.open(server.url);
  for (const orderBy of ['RESOURCE', 'EXPIRES_AT']) {
    const times: number[] = [];
    let after = 'null';
    for (let page = 0; page < 21; page++) {
      const query = `{ locks(orderBy: ${orderBy}, first: 50, after: ${after}) { edges { node { resource owner fencingToken expiresAt } } pageInfo { endCursor } } }`;
      const before = performance.now();
      const answer = await lane.post(JSON.stringify({ query }));
      times.push(performance.now() - before);
      after = `"${/"endCursor":"([^"]+)"/.exec(answer)?.[1] ?? ''}"`;
      expectAnswer(answer, '"fencingToken"');
    }
    console.log(`\nA page of 50 by ${orderBy}: ${ms(median(times))}, the slowest of ${times.length} ${ms(Math.max(...times))}`);
  }
  lane.close();
  const socket = await WebSocketLanes.open(server.url);
  await runLanes(64, 10_000, () => socket.run(lookBody(scatteredName(Math.floor(Math.random() * MANY)))));
  socket.close();
  await sleep(60_000);
  console.log(`Resident memory: ${whole(atStart)} MB at the start, ${whole(server.residentMb())} MB a minute after that work`);
  await server.stop();
}
