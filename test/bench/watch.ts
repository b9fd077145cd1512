import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { benchDirectory, ms, summary, table, whole } from './measure.js';
import { acquireBody, expectAnswer } from './operations.js';
import { startHoldfast, type ServerProcess } from './processes.js';
import { nowMs, type ClientCommand, type Counts } from './watch-clients.js';
import { WebSocketLanes } from './websocket-lanes.js';

/** How long all are idle before memory is looked at. */
const IDLE_MS = Number(process.env['IDLE_MS'] ?? 60_000);
/** Changes that are under way at once, at the most. */
const LANES = 256;
const DAY_MS = 86_400_000;
const KB_PER_MB = 1024;

/** What watching costs, and how fast it is, by one server on SQLite; the watchers are a process of their own. */
export async function benchWatch(): Promise<void> {
  const rows: string[][] = [];
  if (!process.env['BUSY'])
    for (const { sockets, watches } of [
      { sockets: 100, watches: 100 },
      { sockets: 2000, watches: 1 },
    ]) {
      rows.push(await withWatchers({ sockets, watches, watch: 'own' }, idleRow));
    }
  console.log(`\nOne event for one of them each time\n`);
  console.log(table(['watches', 'sockets', 'memory of a watch', 'memory of a socket', 'p50', 'p99'], rows));

  const busy: string[][] = [];
  for (const { sockets, watches, rate, changes } of [
    { sockets: 100, watches: 100, rate: 1, changes: 10 },
    { sockets: 10, watches: 100, rate: 100, changes: 1000 },
    { sockets: 10, watches: 100, rate: 500, changes: 3000 },
    { sockets: 100, watches: 10, rate: 100, changes: 1000 },
    { sockets: 1000, watches: 1, rate: 100, changes: 1000 },
  ]) {
    busy.push(await withWatchers({ sockets, watches, watch: 'all' }, (parts) => busyRow(parts, rate, changes)));
  }
  console.log(`\nEvents that all of them watch\n`);
  console.log(
    table(['watches', 'sockets', 'changes/s', 'delivered/s', 'MB/s', 'processors of the server', 'p50', 'p99', 'the last'], busy),
  );
}

interface Watchers {
  readonly sockets: number;
  readonly watches: number;
  readonly watch: 'own' | 'all';
}

interface Parts extends Watchers {
  readonly server: ServerProcess;
  readonly changes: WebSocketLanes;
  readonly ask: (command: ClientCommand) => Promise<Counts | null>;
  /** Of the server before there was any watch. */
  readonly startMb: number;
}

async function withWatchers<T>(watchers: Watchers, measure: (parts: Parts) => Promise<T>): Promise<T> {
  const directory = benchDirectory();
  const server = await startHoldfast(join(directory.path, 'locks.db'));
  const clients = fork(fileURLToPath(new URL('watch-clients.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] });
  try {
    const changes = await WebSocketLanes.open(server.url);
    await change(changes, 'warm-up', 1000, 500);
    const startMb = server.residentMb();
    const ask = (command: ClientCommand) => askClients(clients, command);
    await ask({ kind: 'open', url: String(server.url), ...watchers });
    await ask({ kind: 'count', messages: 0 });
    const measured = await measure({ ...watchers, server, changes, ask, startMb });
    changes.close();
    return measured;
  } finally {
    clients.kill();
    await server.stop();
    directory.remove();
  }
}

async function askClients(clients: ChildProcess, command: ClientCommand): Promise<Counts | null> {
  clients.send(command);
  const [answer] = (await once(clients, 'message')) as [Counts | null];
  return answer;
}

/** So many acquires of fresh names, so many a second at the most; resolves when all are answered. */
async function change(lanes: WebSocketLanes, name: string, count: number, perSecond: number): Promise<void> {
  const startedAt = performance.now();
  let [sent, answered] = [0, 0];
  while (answered < count) {
    const due = Math.min(count, answered + LANES, Math.ceil(((performance.now() - startedAt) * perSecond) / 1000));
    for (; sent < due; sent++) {
      void lanes.run(acquireBody(`${name}:${sent}`, String(nowMs()), DAY_MS)).then((answer) => {
        expectAnswer(answer, 'LockAcquired');
        answered++;
      });
    }
    await sleep(1);
  }
}

async function idleRow({ sockets, watches, server, changes, ask, startMb }: Parts): Promise<string[]> {
  await sleep(IDLE_MS);
  const kb = (server.residentMb() - startMb) * KB_PER_MB;
  const count = Math.min(sockets * watches, 2000);
  await ask({ kind: 'count', messages: 0 });
  await change(changes, 'own', count, 100);
  const { delays = [] } = (await ask({ kind: 'count', messages: count })) ?? {};
  if (delays.length !== count) throw new Error(`${delays.length} of ${count} events came`);
  const { p50, p99 } = summary([...delays], 1);
  return [
    whole(sockets * watches),
    whole(sockets),
    `${(kb / (sockets * watches)).toFixed(1)} KB`,
    `${(kb / sockets).toFixed(1)} KB`,
    ms(p50),
    ms(p99),
  ];
}

async function busyRow({ sockets, watches, server, changes, ask }: Parts, rate: number, count: number): Promise<string[]> {
  const cpuBefore = server.cpuSeconds();
  const startedAt = performance.now();
  await change(changes, 'busy', count, rate);
  const counts = await ask({ kind: 'count', messages: count * sockets * watches });
  if (counts === null) throw new Error('nothing was counted');
  const { messages, bytes, delays, durationMs, outOfOrder } = counts;
  if (messages < count * sockets * watches || outOfOrder > 0) throw new Error(`${messages} came, ${outOfOrder} out of order`);
  const cpu = (server.cpuSeconds() - cpuBefore) / ((performance.now() - startedAt) / 1000);
  const { p50, p99 } = summary([...delays], 1);
  const perSecond = (messages * 1000) / durationMs;
  const mbPerSecond = (bytes * 1000) / durationMs / 1e6;
  return [
    whole(sockets * watches),
    whole(sockets),
    whole(rate),
    whole(perSecond),
    whole(mbPerSecond),
    cpu.toFixed(2),
    ms(p50),
    ms(p99),
    ms(Math.max(...delays)),
  ];
}
