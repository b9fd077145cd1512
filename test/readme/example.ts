import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { codeBlock, ROOT } from './readme.js';

const PATIENCE_MS = 15_000;

export interface RunningExample {
  /** What it printed on standard output so far, a line each. */
  readonly lines: readonly string[];
  /** What it printed on standard error, once it has ended. */
  readonly complaints: Promise<string>;
  /** The exit code; null: a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Resolves when it has printed a line that matches. */
  printed(pattern: RegExp): Promise<void>;
  /** The same of what it complains of. */
  complained(pattern: RegExp): Promise<void>;
  /** Ends it before the test is over; left out: SIGKILL. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Puts the address of a server under test in the place of the one that readers use. */
export function addressed(text: string, origin: string): string {
  return text.replaceAll('127.0.0.1:4000', new URL(origin).host);
}

/** Saves a JavaScript block as its file and runs it, against that server; killed when the test is over. */
export function runScript(name: string, origin: string, edit = (text: string) => text): RunningExample {
  const directory = temporaryDirectory();
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  writeFileSync(join(directory, name), edit(addressed(codeBlock('js', name).text, origin)));
  return run(process.execPath, [name], directory);
}

/** Runs the text of a block by bash, which ends with the first command that fails. */
export function runBash(text: string, options: { cwd?: string; env?: Readonly<Record<string, string>> } = {}): RunningExample {
  return run('bash', ['-ec', text], options.cwd ?? ROOT, options.env);
}

function run(command: string, args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): RunningExample {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
  const stop = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  onTestFinished(() => stop());
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => void lines.push(line));
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  return {
    lines,
    complaints: exited.then(() => complaints),
    exited,
    async printed(pattern) {
      const print = () => lines.find((line) => pattern.test(line)) ?? `${lines.join('\n')}${complaints}`;
      await expect.poll(print, { timeout: PATIENCE_MS }).toMatch(pattern);
    },
    async complained(pattern) {
      await expect.poll(() => complaints, { timeout: PATIENCE_MS }).toMatch(pattern);
    },
    stop,
  };
}
