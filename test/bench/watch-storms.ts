import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ms, summary, whole } from './measure.js';
import type { ServerProcess } from './processes.js';
import { change, metric, Watchers, withServer } from './watchers.js';

const STALLED = { readers: 200, others: 10, warmUp: 10_000, changes: 50_000, perSecond: 2000, runs: 2 };
const RECONNECTS = { sockets: 1000, locks: 1000, perSecond: 2000 };
const AFTER_MS = 60_000;
const SAMPLE_MS = 100;
const BYTES_PER_MB = 1_048_576;

const loadSaid = () => `(load ${(loadavg()[0] ?? NaN).toFixed(1)})`;

/** Many stop reading for a while; others go on. Twice: what is kept for good would show in the second run. */
export async function reportStalled(): Promise<void> {
  const { readers, others, warmUp, changes: count, perSecond, runs } = STALLED;
  await withServer(async (server, changes) => {
    const stalled = await Watchers.open(server, readers, 1, 'all');
    const live = await Watchers.open(server, others, 1, 'all');
    const memory = peaks(server);
    await change(changes, 'before', warmUp, perSecond);
    await Promise.all([stalled.receive(warmUp * readers), live.receive(warmUp * others)]);
    console.log(`
${readers} readers stop while ${whole(count)} changes happen, up to ${whole(perSecond)} a second, and ${others} others read on:
memory ${whole(memory.take())} MB at the most while all read ${whole(warmUp)} changes`);
    for (let run = 1; run <= runs; run++) {
      await stalled.pause();
      await change(changes, `stall:${run}`, count, perSecond);
      const { delays } = await live.receive(count * others);
      const stopped = memory.take();
      await stalled.resume();
      const resumedAt = performance.now();
      const { messages } = await stalled.receive(count * readers);
      const seconds = (performance.now() - resumedAt) / 1000;
      const resumed = memory.take();
      await sleep(AFTER_MS);
      const { p50, p99 } = summary([...delays], 1);
      console.log(`run ${run}: ${whole(stopped)} MB while they did not read, ${whole(resumed)} MB when they read again, ${await memorySaid(server)}
a minute later; the others were told after ${ms(p50)} (p99 ${ms(p99)}, slowest ${ms(Math.max(...delays))});
all of them had all changes in order ${seconds.toFixed(1)} s after they read again, ${whole(messages / seconds)} a second ${loadSaid()}`);
    }
    memory.stop();
    for (const watchers of [stalled, live]) watchers.close();
  });
}

/** One neither reads nor answers. */
export async function reportSilent(): Promise<void> {
  await withServer(async (server, changes) => {
    const silent = await Watchers.open(server, 1, 1, 'all');
    const before = await metric(server, 'holdfast_websockets');
    await silent.pause();
    const startedAt = performance.now();
    while ((await metric(server, 'holdfast_websockets')) === before) {
      await change(changes, `silent:${performance.now()}`, 1, 1);
      await sleep(1000);
    }
    console.log(`\nA peer that neither reads nor answers is closed after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    silent.close();
  });
}

/** All who watch a prefix begin anew, as after a restart. */
export async function reportReconnects(): Promise<void> {
  const { sockets, locks, perSecond } = RECONNECTS;
  await withServer(async (server, changes) => {
    await change(changes, 'held', locks, perSecond);
    const watchers = await Watchers.open(server, sockets, 0, 'all');
    const memory = peaks(server);
    const before = memory.take();
    const [startedAt, cpuBefore] = [performance.now(), server.cpuSeconds()];
    await watchers.takeSnapshots('held:');
    const seconds = (performance.now() - startedAt) / 1000;
    const processorSeconds = server.cpuSeconds() - cpuBefore;
    const peak = memory.take();
    memory.stop();
    console.log(`
${whole(sockets)} sockets begin to watch a prefix of ${whole(locks)} locks, all at once: ${seconds.toFixed(2)} s until all have their snapshot,
${processorSeconds.toFixed(2)} s of the processor; memory ${whole(before)} MB before, ${whole(peak)} MB at the most ${loadSaid()}`);
    watchers.close();
  });
}

async function memorySaid(server: ServerProcess): Promise<string> {
  const [used, total] = await Promise.all(['used', 'total'].map((of) => metric(server, `nodejs_heap_size_${of}_bytes`)));
  const [usedMb, totalMb] = [(used ?? NaN) / BYTES_PER_MB, (total ?? NaN) / BYTES_PER_MB];
  return `${whole(server.residentMb())} MB (of which the heap has ${whole(totalMb)}, ${whole(usedMb)} in use)`;
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
