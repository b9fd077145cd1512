import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpLane } from './http-lanes.js';
import { benchDirectory, median, ms, ratio, table } from './measure.js';
import { expectAnswer, lookBody } from './operations.js';
import { startHoldfast } from './processes.js';

const RUNS = 5;
const IDLE_MS = 3000;

/** How long a start on a database takes that exists already, and what memory a server takes to which nobody talks. */
export async function benchStart(): Promise<void> {
  const directory = benchDirectory();
  const file = join(directory.path, 'locks.db');
  const starts: Started[] = [];
  try {
    await start(file, 0);
    for (let run = 0; run < RUNS; run++) starts.push(await start(file, IDLE_MS));
  } finally {
    directory.remove();
  }
  const of = (value: (started: Started) => number) => median(starts.map(value));
  console.log(`\nA start on an existing database, medians of ${RUNS}\n`);
  console.log(
    table(
      ['until it listens', 'until it has answered a query', 'of that, processor time', 'memory when idle'],
      [
        [
          ms(of(({ listensMs }) => listensMs)),
          ms(of(({ answersMs }) => answersMs)),
          `${ratio(of(({ cpuSeconds }) => cpuSeconds))} s`,
          `${ratio(of(({ idleMb }) => idleMb))} MB`,
        ],
      ],
    ),
  );
}

interface Started {
  readonly listensMs: number;
  readonly answersMs: number;
  readonly cpuSeconds: number;
  readonly idleMb: number;
}

async function start(file: string, idleMs: number): Promise<Started> {
  const before = performance.now();
  const server = await startHoldfast(file);
  const listensMs = performance.now() - before;
  const lane = await HttpLane.open(server.url);
  expectAnswer(await lane.post(lookBody('r')), '"lock":null');
  const answersMs = performance.now() - before;
  lane.close();
  const cpuSeconds = server.cpuSeconds();
  await sleep(idleMs);
  const idleMb = server.residentMb();
  await server.stop();
  return { listensMs, answersMs, cpuSeconds, idleMb };
}
