import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { benchDirectory } from './measure.js';
import { acquireBody, expectAnswer } from './operations.js';
import { startHoldfast, type ServerProcess } from './processes.js';
import { nowMs, type ClientCommand, type Counts, type Watched } from './watch-clients.js';
import { WebSocketLanes } from './websocket-lanes.js';

/** Changes that are under way at once, at the most. */
const LANES = 256;
const DAY_MS = 86_400_000;
const WARM_UP = { changes: 2000, perSecond: 1000 };

/** Runs what measures a server on a new database, which has done some work already. */
export async function withServer<T>(measure: (server: ServerProcess, changes: WebSocketLanes) => Promise<T>): Promise<T> {
  const directory = benchDirectory();
  const server = await startHoldfast(join(directory.path, 'locks.db'));
  try {
    const changes = await WebSocketLanes.open(server.url);
    await change(changes, 'warm-up', WARM_UP.changes, WARM_UP.perSecond);
    const measured = await measure(server, changes);
    changes.close();
    return measured;
  } finally {
    await server.stop();
    directory.remove();
  }
}

/**
 * So many acquires of fresh names, so many a second at the most.
 *
 * @returns when all are answered: how long each answer took, in milliseconds.
 */
export async function change(lanes: WebSocketLanes, name: string, count: number, perSecond: number): Promise<number[]> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  let sent = 0;
  while (latencies.length < count) {
    const due = Math.min(count, latencies.length + LANES, Math.ceil(((performance.now() - startedAt) * perSecond) / 1000));
    for (; sent < due; sent++) {
      const askedAt = nowMs();
      void lanes.run(acquireBody(`${name}:${sent}`, String(askedAt), DAY_MS)).then((answer) => {
        expectAnswer(answer, 'LockAcquired');
        latencies.push(nowMs() - askedAt);
      });
    }
    await sleep(1);
  }
  return latencies;
}

/** What a server says of itself under /metrics. */
export async function metric({ url }: ServerProcess, name: string): Promise<number> {
  const text = await (await fetch(new URL('/metrics', url), { headers: { connection: 'close' } })).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

/** Those who watch, in a process of their own: what they cost must not look like the server's. */
export class Watchers {
  readonly #process = fork(fileURLToPath(new URL('watch-clients.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] });
  readonly count: number;

  private constructor(
    readonly sockets: number,
    watchesPerSocket: number,
  ) {
    this.count = sockets * watchesPerSocket;
  }

  static async open(server: ServerProcess, sockets: number, watches: number, of: Watched): Promise<Watchers> {
    const watchers = new Watchers(sockets, watches);
    await watchers.#ask({ kind: 'open', url: String(server.url), sockets, watches, of });
    await watchers.#ask({ kind: 'count', messages: 0 });
    return watchers;
  }

  /** Each socket watches that prefix, too: all at once, until all have its snapshot. */
  async takeSnapshots(prefix: string): Promise<void> {
    await this.#ask({ kind: 'snapshots', prefix });
  }

  async pause(): Promise<void> {
    await this.#ask({ kind: 'pause' });
  }

  async resume(): Promise<void> {
    await this.#ask({ kind: 'resume' });
  }

  /** Begins to count anew. */
  async reset(): Promise<void> {
    await this.#ask({ kind: 'count', messages: 0 });
  }

  /**
   * Resolves when that many messages have come.
   *
   * @throws where some are missing, or out of order.
   */
  async receive(messages: number): Promise<Counts> {
    const counts = await this.#ask({ kind: 'count', messages });
    if (counts === null) throw new Error('Nothing was counted');
    if (counts.messages < messages) throw new Error(`${counts.messages} of ${messages} messages came`);
    if (counts.outOfOrder > 0) throw new Error(`${counts.outOfOrder} messages were out of order`);
    return counts;
  }

  close(): void {
    this.#process.kill();
  }

  async #ask(command: ClientCommand): Promise<Counts | null> {
    this.#process.send(command);
    const [answer] = (await once(this.#process, 'message')) as [Counts | null];
    return answer;
  }
}
