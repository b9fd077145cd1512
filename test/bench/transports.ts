import { join } from 'node:path';
import { durableCommits } from './durable-commit.js';
import { HttpLane } from './http-lanes.js';
import { benchDirectory, fdatasyncMs, medians, ms, ratio, runLanes, table, whole, type Measured } from './measure.js';
import { benchOverload } from './overload.js';
import { acquireBody, expectAnswer, releaseBody } from './operations.js';
import { startBaseline, startHoldfast, type ServerProcess } from './processes.js';
import { WebSocketLanes } from './websocket-lanes.js';

const RUNS = 5;
const RUN_MS = 2000;
const LANES = 64;
/** Many operations may be under way on one socket: where each waits for the disk, more of them share the wait. */
const MANY_LANES = 256;

type Operation = (lane: number, round: number) => Promise<unknown>;
type Send = (lane: number, body: string) => Promise<string>;

/** The whole service, durable, over both ways in, against servers that do nothing for the same requests of the same client. */
export async function benchTransports(): Promise<void> {
  const directory = benchDirectory();
  const servers = {
    holdfast: await startHoldfast(join(directory.path, 'locks.db')),
    echo: await startBaseline('node-http'),
    yoga: await startBaseline('yoga'),
    graphqlWs: await startBaseline('graphql-ws'),
  };
  try {
    const runs = new Map<string, Measured[]>();
    for (let run = 0; run < RUNS; run++) {
      for (const [name, measure] of measurements(servers, directory.path)) {
        runs.set(name, [...(runs.get(name) ?? []), await measure()]);
      }
    }
    report(fdatasyncMs(directory.path), new Map([...runs].map(([name, measured]) => [name, medians(measured)])));
  } finally {
    for (const server of Object.values(servers)) await server.stop();
    directory.remove();
  }
  await benchOverload();
}

type Servers = Record<'holdfast' | 'echo' | 'yoga' | 'graphqlWs', ServerProcess>;

function measurements(
  { holdfast, echo, yoga, graphqlWs }: Servers,
  directory: string,
): [string, () => Measured | Promise<Measured>][] {
  return [
    ['node:http, JSON echo', () => overHttp(echo.url, LANES, acquireAndRelease)],
    ['Yoga, no-op', () => overHttp(yoga.url, LANES, acquireAndRelease)],
    ['Holdfast over HTTP', () => overHttp(holdfast.url, LANES, acquireAndRelease)],
    ['graphql-ws, no-op', () => overWebSocket(graphqlWs.url, LANES, acquireAndRelease)],
    ['Holdfast over WebSocket', () => overWebSocket(holdfast.url, LANES, acquireAndRelease)],
    [`Holdfast over WebSocket, ${MANY_LANES} lanes`, () => overWebSocket(holdfast.url, MANY_LANES, acquireAndRelease)],
    ['a bare durable commit', () => durableCommits(directory)],
    ['node:http, JSON echo, 1 lane', () => overHttp(echo.url, 1, acquireAndRelease)],
    ['Holdfast over HTTP, 1 lane', () => overHttp(holdfast.url, 1, acquireAndRelease)],
    ['Holdfast over WebSocket, 1 lane', () => overWebSocket(holdfast.url, 1, acquireAndRelease)],
  ];
}

function report(fdatasync: number, results: ReadonlyMap<string, Measured>): void {
  const echo = results.get('node:http, JSON echo')?.perSecond ?? Number.NaN;
  const yoga = results.get('Yoga, no-op')?.perSecond ?? Number.NaN;
  console.log(`\nTransports, ${LANES} lanes, medians of ${RUNS} runs; fdatasync of 4 KiB: ${ms(fdatasync)}\n`);
  console.log(
    table(
      ['', 'operations/s', 'to the echo', 'to Yoga', 'p50', 'p99'],
      [...results].map(([name, { perSecond, p50, p99 }]) => [
        name,
        whole(perSecond),
        ratio(perSecond / echo),
        ratio(perSecond / yoga),
        ms(p50),
        ms(p99),
      ]),
    ),
  );
}

async function overHttp(url: URL, lanes: number, operation: (send: Send) => Operation): Promise<Measured> {
  const connections = await Promise.all(Array.from({ length: lanes }, () => HttpLane.open(url)));
  const send: Send = async (lane, body) => (await connections[lane]?.post(body)) ?? '';
  const measured = await runLanes(lanes, RUN_MS, operation(send));
  for (const connection of connections) connection.close();
  return measured;
}

async function overWebSocket(url: URL, lanes: number, operation: (send: Send) => Operation): Promise<Measured> {
  const socket = await WebSocketLanes.open(url);
  const measured = await runLanes(
    lanes,
    RUN_MS,
    operation((_lane, body) => socket.run(body)),
  );
  socket.close();
  return measured;
}

/**
 * Acquires, and releases in the next round; an echo answers with what was asked, which names both. The bodies are made before: the
 * server is what is measured.
 */
function acquireAndRelease(send: Send): Operation {
  const names = Array.from({ length: MANY_LANES }, (_, lane) => [`lane:${lane}`, `owner:${lane}`] as const);
  const bodies = [names.map((name) => acquireBody(...name)), names.map((name) => releaseBody(...name))] as const;
  return async (lane, round) => {
    const isAcquire = round % 2 === 0;
    const answer = await send(lane, bodies[isAcquire ? 0 : 1][lane] ?? '');
    expectAnswer(answer, isAcquire ? 'LockAcquired' : 'LockReleased');
  };
}
