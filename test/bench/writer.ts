import { join } from 'node:path';
import { acquire, release } from '../support/commands.js';
import { RETENTION } from './retention.js';
import { commitGroup, Engine, openStore, SharedClock, systemTime, WriteConnection } from './built.js';
import { fillLog } from './fill.js';
import { benchDirectory, fdatasyncMs, medians, ms, ratio, runLanes, summary, table, whole, type Measured } from './measure.js';
import { SilentObserver } from './silent-observer.js';

const RUNS = 5;
const RUN_MS = 2000;
/** Before each run, uncounted: a thread that has just started runs its code slowly. */
const WARM_UP_MS = 1000;
const LANES = [1, 16, 64, 256];
const LOG_EVENTS = 1_000_000;
const NAMES_PER_LANE = 10;

/**
 * The writer, queue, thread and feed included, against a loop that commits each operation by itself: the same
 * connection, the same decision, the same statements, the same schema and log, durable both.
 */
export async function benchWriter(): Promise<void> {
  const directory = benchDirectory();
  try {
    const file = join(directory.path, 'locks.db');
    await fillLog(file, LOG_EVENTS);
    // While somebody has the file open, the write-ahead log keeps the size that it reached: as under a server that runs.
    const keeper = await openStore({ databaseUrl: `file:${file}`, retryWindowMs: 600_000 });
    const loops: Measured[] = [];
    const lanes = new Map<number, Measured[]>(LANES.map((count) => [count, []]));
    for (let run = 0; run < RUNS; run++) {
      loops.push(runLoop(file));
      for (const count of LANES) lanes.get(count)?.push(await runEngine(file, count));
    }
    report(fdatasyncMs(directory.path), medians(loops), lanes);
    await keeper.close();
  } finally {
    directory.remove();
  }
}

function report(fdatasync: number, loop: Measured, lanes: ReadonlyMap<number, readonly Measured[]>): void {
  const row = (name: string, { perSecond, p50, p99 }: Measured) => [
    name,
    whole(perSecond),
    ratio(perSecond / loop.perSecond),
    ms(p50),
    ratio(p50 / loop.p50),
    ms(p99),
  ];
  console.log(
    `\nWriter, ${whole(LOG_EVENTS)} events in the log, synchronous=FULL, medians of ${RUNS} runs; fdatasync of 4 KiB: ${ms(fdatasync)}\n`,
  );
  console.log(
    table(
      ['', 'operations/s', 'to the loop', 'p50', 'to the loop', 'p99'],
      [row('one commit each, in a loop', loop), ...[...lanes].map(([count, runs]) => row(`writer, ${count} lanes`, medians(runs)))],
    ),
  );
}

function runLoop(file: string): Measured {
  const connection = new WriteConnection(file);
  const clock = new SharedClock(systemTime);
  let latencies: number[] = [];
  const timed = (command: ReturnType<typeof acquire> | ReturnType<typeof release>) => {
    const before = performance.now();
    commitGroup(connection, clock, 600_000, [command]);
    latencies.push(performance.now() - before);
  };
  const runFor = (ms: number) => {
    latencies = [];
    const startedAt = performance.now();
    for (let i = 0; performance.now() - startedAt < ms; i++) {
      const name = `loop:${i % NAMES_PER_LANE}`;
      timed(acquire(name, 'loop'));
      timed(release(name, 'loop'));
    }
    return performance.now() - startedAt;
  };
  runFor(WARM_UP_MS);
  const durationMs = runFor(RUN_MS);
  connection.close();
  return summary(latencies, durationMs);
}

async function runEngine(file: string, lanes: number): Promise<Measured> {
  const store = await openStore({ databaseUrl: `file:${file}`, retryWindowMs: 600_000 });
  const engine = await Engine.start(store, new SilentObserver(), { retention: RETENTION });
  const operation = (lane: number, round: number) => {
    const name = `lane:${lane}:${Math.floor(round / 2) % NAMES_PER_LANE}`;
    const command = round % 2 === 0 ? acquire(name, `owner:${lane}`) : release(name, `owner:${lane}`);
    return engine.submit(command);
  };
  await runLanes(lanes, WARM_UP_MS, operation);
  const measured = await runLanes(lanes, RUN_MS, operation);
  await engine.close();
  return measured;
}
