import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const fromRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Of the kernel's clock: USER_HZ. */
const TICKS_PER_SECOND = 100;

export interface ServerProcess {
  /** Of the GraphQL endpoint. */
  readonly url: URL;
  /** Resident memory in MB. */
  residentMb(): number;
  /** Has it free whatever it can, where it was started with {@link COLLECTS_GARBAGE}. */
  collectGarbage(): void;
  /** What it has had of processors, in seconds, all its threads together. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

/** Of the environment. */
export const COLLECTS_GARBAGE = { NODE_OPTIONS: `--import ${new URL('../support/collect-garbage.js', import.meta.url).href}` };

/** The service as `npm start` runs it, on that database file. */
export function startHoldfast(file: string): Promise<ServerProcess> {
  return startHoldfastOn(`file:${file}`);
}

/** The same on any database, with these variables besides. */
export function startHoldfastOn(databaseUrl: string, environment: Record<string, string> = {}): Promise<ServerProcess> {
  return start([fromRoot('dist/main.js')], { ...environment, DATABASE_URL: databaseUrl, PORT: '0' });
}

/** One of the servers of baseline-server.ts, which do the least that their way in allows. */
export function startBaseline(kind: 'node-http' | 'yoga' | 'graphql-ws'): Promise<ServerProcess> {
  return start(['--import', 'tsx', fromRoot('test/bench/baseline-server.ts'), kind], {});
}

async function start(args: readonly string[], environment: Record<string, string>): Promise<ServerProcess> {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await listeningUrl(child);
  return {
    url,
    collectGarbage: () => void child.kill('SIGUSR2'),
    residentMb: () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    cpuSeconds: () => {
      const [user, system] = (readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1] ?? '').split(' ').slice(11, 13);
      return (Number(user) + Number(system)) / TICKS_PER_SECOND;
    },
    async stop() {
      if (child.exitCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

async function listeningUrl(child: ChildProcess): Promise<URL> {
  if (child.stdout === null) throw new Error('no output');
  const lines = createInterface(child.stdout);
  for await (const line of lines) {
    const url = /http:\/\/[\w.:[\]]+\/graphql/.exec(line)?.[0];
    if (url !== undefined) {
      child.stdout.resume();
      return new URL(url);
    }
  }
  throw new Error('The server ended before it listened');
}
