import { setTimeout as sleep } from 'node:timers/promises';
import { ms, summary, table, whole } from './measure.js';
import type { ServerProcess } from './processes.js';
import { change, Watchers, withServer } from './watchers.js';

/** How long all are idle before memory is looked at. */
const IDLE_MS = 60_000;
const KB_PER_MB = 1024;
const QUIET = { changes: 2000, perSecond: 100 };
const STALLED = { readers: 200, others: 10, warmUp: 10_000, changes: 50_000, perSecond: 2000 };
const SAMPLE_MS = 100;

/** What watching costs, and how fast it is: one server on SQLite, and those who watch in a process of their own. */
export async function benchWatch(): Promise<void> {
  const emptyMb = await withServer(memoryWhenIdle);
  const quiet = [await quietRow(100, 100, emptyMb), await quietRow(2000, 1, emptyMb)];
  console.log(`\nWatches of a name each; ${QUIET.perSecond} changes a second, each of one of them\n`);
  console.log(
    table(['watches', 'sockets', 'memory of a watch', 'memory of a socket', 'p50', 'p99', 'slowest', 'p99 of the answers'], quiet),
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
      ['watches', 'sockets', 'changes/s', 'told/s', 'MB/s', 'processors of the server', 'told/s by one', 'p50', 'p99', 'slowest'],
      busy,
    ),
  );
  await reportStalled();
}

const kilobytes = (mb: number, count: number) => `${((mb * KB_PER_MB) / count).toFixed(1)} KB`;

async function memoryWhenIdle(server: ServerProcess): Promise<number> {
  await sleep(IDLE_MS);
  return server.residentMb();
}

/** @param emptyMb the memory of a server without watches */
async function quietRow(sockets: number, watches: number, emptyMb: number): Promise<string[]> {
  return withServer(async (server, changes) => {
    const watchers = await Watchers.open(server, sockets, watches, 'own');
    const mb = (await memoryWhenIdle(server)) - emptyMb;
    await watchers.reset();
    const answers = await change(changes, 'own', QUIET.changes, QUIET.perSecond);
    const { delays } = await watchers.receive(QUIET.changes);
    watchers.close();
    const { p50, p99 } = summary([...delays], 1);
    const times = [p50, p99, Math.max(...delays), summary(answers, 1).p99];
    return [whole(watchers.count), whole(sockets), kilobytes(mb, watchers.count), kilobytes(mb, sockets), ...times.map(ms)];
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
    ];
  });
}

/** Many stop reading for a while; others go on. */
async function reportStalled(): Promise<void> {
  const { readers, others, warmUp, changes: count, perSecond } = STALLED;
  await withServer(async (server, changes) => {
    const stalled = await Watchers.open(server, readers, 1, 'all');
    const live = await Watchers.open(server, others, 1, 'all');
    const memory = peaks(server);
    await change(changes, 'before', warmUp, perSecond);
    await Promise.all([stalled.receive(warmUp * readers), live.receive(warmUp * others)]);
    const reading = memory.take();
    await stalled.pause();
    await change(changes, 'stall', count, perSecond);
    const { delays } = await live.receive(count * others);
    const stopped = memory.take();
    await stalled.resume();
    const resumedAt = performance.now();
    const { messages } = await stalled.receive(count * readers);
    const seconds = (performance.now() - resumedAt) / 1000;
    const resumed = memory.take();
    await sleep(IDLE_MS);
    const after = server.residentMb();
    memory.stop();
    for (const watchers of [stalled, live]) watchers.close();
    const { p50, p99 } = summary([...delays], 1);
    console.log(`
${readers} readers stop while ${whole(count)} changes happen, up to ${whole(perSecond)} a second, and ${others} others read on:
memory ${whole(reading)} MB at the most while all read, ${whole(stopped)} MB while they did not, ${whole(resumed)} MB when they
read again, ${whole(after)} MB a minute later;
the others were told after ${ms(p50)} (p99 ${ms(p99)}, slowest ${ms(Math.max(...delays))});
all of them had all changes in order ${seconds.toFixed(1)} s after they read again, ${whole(messages / seconds)} a second`);
  });
}

/** The most resident memory, in MB, since it was taken last; at first, since now. */
function peaks(server: ServerProcess): { take: () => number; stop: () => void } {
  let peak = 0;
  const sample = () => (peak = Math.max(peak, server.residentMb()));
  const sampling = setInterval(sample, SAMPLE_MS);
  return {
    take: () => {
      const taken = sample();
      peak = server.residentMb();
      return taken;
    },
    stop: () => clearInterval(sampling),
  };
}
