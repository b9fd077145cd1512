import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { whenOver } from './shared.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const START_TIMEOUT_MS = 60_000;

export interface ServerProcess {
  readonly process: ChildProcess;
  readonly url: string;
  /** Which one it says that it uses. */
  readonly database: string;
  /** The exit code, or the signal that ended it. */
  readonly exited: Promise<number | string>;
}

/** The built server in a process of its own, as `npm start` runs it; killed when the test is over. */
export async function startServerProcess(env: Readonly<Record<string, string>>): Promise<ServerProcess> {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env['PATH'], PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit').then(([code, signal]: (number | string | null)[]) => code ?? signal ?? 'unknown');
  whenOver(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const { url, database } = await Promise.race([
    readStart(child),
    exited.then((code) => Promise.reject(new Error(`The server ended with ${code}`))),
  ]);
  return { process: child, url, database, exited };
}

/** What a start that is refused says, and its exit code. */
export async function failToStart(env: Readonly<Record<string, string>>): Promise<{ code: number | null; text: string }> {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text };
}

async function readStart(child: ChildProcess): Promise<{ readonly url: string; readonly database: string }> {
  if (child.stdout === null) throw new Error('The output is not piped');
  const lines = createInterface(child.stdout);
  const timeout = setTimeout(() => lines.close(), START_TIMEOUT_MS);
  let last = 'nothing';
  for await (const line of lines) {
    last = line;
    const { msg, database = '' } = JSON.parse(line) as { msg: string; database?: string };
    const url = /^listening on (http:\S+)$/.exec(msg)?.[1];
    if (url === undefined) continue;
    clearTimeout(timeout);
    // What comes later is read and dropped, so that the pipe never fills.
    child.stdout.resume();
    return { url, database };
  }
  throw new Error(`The server did not say where it listens; the last it said: ${last}`);
}
