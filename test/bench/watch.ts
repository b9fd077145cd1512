import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ms, summary, table, whole } from './measure.js';
import type { ServerProcess } from './processes.js';
import { reportReconnects, reportSilent, reportStalled } from './watch-storms.js';
import { change, Watchers, withServer } from './watchers.js';

/** How long all are idle before memory is looked at. */
const IDLE_MS = 60_000;
const KB_PER_MB = 1024;
const QUIET = { changes: 2000, perSecond: 100 };

/** What watching costs, and how fast it is: one server on SQLite, and those who watch in a process of their own. */
export async function benchWatch(): Promise<void> {
  const quiet = [await quietRow(100, 100), await quietRow(2000, 1)];
  console.log(`\nWatches of a name each; ${QUIET.perSecond} changes a second, each of one of them\n`);
  console.log(
    table(
      ['watches', 'sockets', 'memory of a watch', 'memory of a socket', 'p50', 'p99', 'slowest', 'p99 of the answers', 'load'],
      quiet,
    ),
  );

  const busy = [
    await busyRow(100, 100, 10, 1),
    await busyRow(10, 100, 1000, 100),
    await busyRow(100, 10, 1000, 100),
    await busyRow(1000, 1, 1000, 100),
    await busyRow(10, 100, 3000, 500),
  ];
  console.log('\nWatches of everything\n');
  console.log(
    table(
      [
        'watches',
        'sockets',
        'changes/s',
        'told/s',
        'MB/s',
        'processors of the server',
        'told/s by one',
        'p50',
        'p99',
        'slowest',
        'load',
      ],
      busy,
    ),
  );
  await reportStalled();
  await reportSilent();
  await reportReconnects();
}

const kilobytes = (mb: number, count: number) => `${((mb * KB_PER_MB) / count).toFixed(1)} KB`;

async function memoryWhenIdle(server: ServerProcess): Promise<number> {
  await sleep(IDLE_MS);
  return server.residentMb();
}

/** What else the machine has to do: the processes that want a processor, in the last minute. */
const load = () => (loadavg()[0] ?? NaN).toFixed(1);

async function quietRow(sockets: number, watches: number): Promise<string[]> {
  return withServer(async (server, changes) => {
    const emptyMb = await memoryWhenIdle(server);
    const watchers = await Watchers.open(server, sockets, watches, 'own');
    const mb = (await memoryWhenIdle(server)) - emptyMb;
    await watchers.reset();
    const answers = await change(changes, 'own', QUIET.changes, QUIET.perSecond);
    const { delays } = await watchers.receive(QUIET.changes);
    watchers.close();
    const { p50, p99 } = summary([...delays], 1);
    const times = [p50, p99, Math.max(...delays), summary(answers, 1).p99];
    return [whole(watchers.count), whole(sockets), kilobytes(mb, watchers.count), kilobytes(mb, sockets), ...times.map(ms), load()];
  });
}

async function busyRow(sockets: number, watches: number, count: number, perSecond: number): Promise<string[]> {
  return withServer(async (server, changes) => {
    const watchers = await Watchers.open(server, sockets, watches, 'all');
    const [cpuBefore, startedAt] = [server.cpuSeconds(), performance.now()];
    await change(changes, 'busy', count, perSecond);
    const { messages, bytes, delays, durationMs } = await watchers.receive(count * watchers.count);
    const processorSeconds = server.cpuSeconds() - cpuBefore;
    const processors = (processorSeconds * 1000) / (performance.now() - startedAt);
    watchers.close();
    const { p50, p99 } = summary([...delays], 1);
    const told = (messages * 1000) / durationMs;
    const mb = bytes / durationMs / 1000;
    const slowest = Math.max(...delays);
    return [
      ...[watchers.count, sockets, perSecond, told, mb].map(whole),
      processors.toFixed(2),
      whole(messages / processorSeconds),
      ...[p50, p99, slowest].map(ms),
      load(),
    ];
  });
}
