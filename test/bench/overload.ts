import { join } from 'node:path';
import { HttpLane } from './http-lanes.js';
import { benchDirectory, median, ms, ratio, summary, table, whole } from './measure.js';
import { acquireBody, expectAnswer, releaseBody } from './operations.js';
import { startHoldfastOn } from './processes.js';
import { WebSocketLanes } from './websocket-lanes.js';

/** Operations that the server takes at once: so many callers are its capacity. */
const CAPACITY = 200;
const OVERLOAD = 5;
const SOCKETS = 8;
const RUNS = 5;
const RUN_MS = 3000;

type Send = (lane: number, body: string) => Promise<string>;

interface Load {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly refusedPerSecond: number;
}

/**
 * As many callers as the server takes at once, and then five times as many, none of whom waits before it tries again: how long
 * those who are let in take, and the worst of the ratios.
 */
export async function benchOverload(): Promise<void> {
  const directory = benchDirectory();
  const server = await startHoldfastOn(`file:${join(directory.path, 'locks.db')}`, { MAX_OPERATIONS: String(CAPACITY) });
  const rows: string[][] = [];
  try {
    for (const [name, open] of [
      ['HTTP', overHttp],
      ['WebSocket', overWebSockets],
    ] as const) {
      const runs: [Load, Load][] = [];
      for (let run = 0; run < RUNS; run++) {
        runs.push([await offer(CAPACITY, server.url, open), await offer(OVERLOAD * CAPACITY, server.url, open)]);
      }
      for (const [index, callers] of [CAPACITY, OVERLOAD * CAPACITY].entries()) {
        const of = (value: (load: Load) => number) => median(runs.map((run) => value(run[index] as Load)));
        const growth = runs.map(([at, beyond]) => beyond.p99 / at.p99);
        rows.push([
          `${name}, ${whole(callers)} callers`,
          whole(of(({ perSecond }) => perSecond)),
          whole(of(({ refusedPerSecond }) => refusedPerSecond)),
          ms(of(({ p50 }) => p50)),
          ms(of(({ p99 }) => p99)),
          index === 0 ? '1' : `${ratio(median(growth))} (${ratio(Math.min(...growth))} to ${ratio(Math.max(...growth))})`,
        ]);
      }
    }
  } finally {
    await server.stop();
    directory.remove();
  }
  console.log(`\nOverload: a server that takes ${CAPACITY} operations at once, medians of ${RUNS} runs\n`);
  console.log(table(['', 'answered/s', 'refused/s', 'p50', 'p99', 'p99 to that at capacity'], rows));
}

interface Lanes {
  readonly send: Send;
  readonly close: () => void;
}

async function overHttp(url: URL, lanes: number): Promise<Lanes> {
  const connections: HttpLane[] = [];
  for (let lane = 0; lane < lanes; lane++) connections.push(await HttpLane.open(url));
  return {
    send: (lane, body) => (connections[lane] as HttpLane).post(body),
    close: () => {
      for (const connection of connections) connection.close();
    },
  };
}

async function overWebSockets(url: URL): Promise<Lanes> {
  const sockets = await Promise.all(Array.from({ length: SOCKETS }, () => WebSocketLanes.open(url)));
  return {
    send: (lane, body) => (sockets[lane % SOCKETS] as WebSocketLanes).run(body),
    close: () => {
      for (const socket of sockets) socket.close();
    },
  };
}

/** Each lane acquires and releases a lock of its own, and tries again at once where it is refused. */
async function offer(lanes: number, url: URL, open: (url: URL, lanes: number) => Promise<Lanes>): Promise<Load> {
  const { send, close } = await open(url, lanes);
  const latencies: number[] = [];
  let refused = 0;
  const startedAt = performance.now();
  const runLane = async (lane: number) => {
    const bodies = [acquireBody(`lane:${lane}`, `owner:${lane}`), releaseBody(`lane:${lane}`, `owner:${lane}`)] as const;
    for (let round = 0; performance.now() - startedAt < RUN_MS;) {
      const before = performance.now();
      const answer = await send(lane, bodies[round === 0 ? 0 : 1]);
      if (answer.includes('UNAVAILABLE')) {
        refused += 1;
        continue;
      }
      expectAnswer(answer, round === 0 ? 'LockAcquired' : 'LockReleased');
      latencies.push(performance.now() - before);
      round = 1 - round;
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane)));
  const durationMs = performance.now() - startedAt;
  close();
  return { ...summary(latencies, durationMs), refusedPerSecond: refused / (durationMs / 1000) };
}
