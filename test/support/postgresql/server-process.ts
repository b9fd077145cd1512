import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { quickDirectory } from '../quick-directory.js';
import { findExecutables, type Executables } from './executables.js';

/** Parameters of PostgreSQL, by name. */
export type PostgresqlSettings = Readonly<Record<string, string | number>>;

const SUPERUSER = 'postgres';

const SETTINGS: PostgresqlSettings = {
  listen_addresses: '127.0.0.1',
  // Its socket files would lie where two servers could meet.
  unix_socket_directories: '',
  max_connections: 300,
  // Nothing here has to outlive the machine; what a killed server had committed is in the machine's memory all the same.
  fsync: 'off',
  max_wal_size: '128MB',
  // A password that nobody can guess need not be slow to check, which happens for every connection.
  scram_iterations: 1,
};

/** Below those that systems hand out by themselves, so that nobody gets the port of a server that is down for a moment. */
const PORTS = { first: 20_000, end: 32_000 };
const PORT_TRIES = 20;

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const POLL_MS = 10;

/** What a start says while processes of a server that was killed have not ended yet. */
const STILL_IN_USE = 'is still in use';
const PORT_TAKEN = 'Address already in use';

const NAME = 'holdfast-postgresql-';

/** A PostgreSQL server with data of its own in a temporary directory, on a free port of the loopback interface. */
export class PostgresqlServerProcess {
  readonly #directory = mkdtempSync(join(tmpdir(), NAME));
  readonly #dataDirectory: string;
  readonly #data: string;
  readonly #log = join(this.#directory, 'log');
  readonly #password = randomBytes(16).toString('hex');
  #executables: Executables | null = null;
  #port = 0;
  #process: ChildProcess | null = null;

  private constructor(room: string) {
    this.#dataDirectory = mkdtempSync(join(room, NAME));
    this.#data = join(this.#dataDirectory, 'data');
    process.once('exit', this.#abandon);
  }

  /**
   * Sets up a server without any data, and starts it. Whoever creates it removes it. With `fsync` on, its data is on the disk of the
   * temporary directory.
   */
  static async create(settings: PostgresqlSettings = {}): Promise<PostgresqlServerProcess> {
    const server = new PostgresqlServerProcess(settings['fsync'] === 'on' ? tmpdir() : quickDirectory());
    try {
      await server.#setUp({ ...SETTINGS, ...settings });
      await server.#startOnFreePort();
      return server;
    } catch (error) {
      await server.remove();
      throw error;
    }
  }

  /** Of the database that every server begins with, for an account that may do everything. */
  get url(): string {
    return `postgresql://${SUPERUSER}:${this.#password}@127.0.0.1:${this.#port}/postgres`;
  }

  /** Starts it again, with the same data on the same port. */
  async start(): Promise<void> {
    const deadline = Date.now() + START_TIMEOUT_MS;
    for (;;) {
      const failure = await this.#tryToStart(deadline);
      if (failure === null) return;
      if (!failure.includes(STILL_IN_USE) || Date.now() > deadline) throw new Error(`PostgreSQL did not start: ${failure}`);
      await sleep(POLL_MS);
    }
  }

  /** Stops it in its fast way: sessions are ended, what they had not committed is undone. */
  async stop(): Promise<void> {
    // Only ever through the handle, which knows whether its process has ended: no other one is hit by a signal.
    this.#process?.kill('SIGINT');
    if (await this.#hasExited(STOP_TIMEOUT_MS)) return;
    this.#process?.kill('SIGQUIT');
    if (!(await this.#hasExited(STOP_TIMEOUT_MS))) throw new Error('PostgreSQL does not stop');
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    this.#process?.kill('SIGKILL');
    await this.#hasExited(STOP_TIMEOUT_MS);
  }

  /** Stops it where it runs, and removes its data. */
  async remove(): Promise<void> {
    await this.stop();
    process.off('exit', this.#abandon);
    this.#removeFiles();
  }

  /** A run of the tests that is cut short leaves nothing behind. This is all that can be done while the process exits. */
  readonly #abandon = (): void => {
    this.#process?.kill('SIGQUIT');
    this.#removeFiles();
  };

  #removeFiles(): void {
    for (const directory of [this.#directory, this.#dataDirectory]) rmSync(directory, { recursive: true, force: true });
  }

  async #setUp(settings: PostgresqlSettings): Promise<void> {
    this.#executables = await findExecutables(this.#directory);
    const { initdb, account } = this.#executables;
    const passwordFile = join(this.#directory, 'password');
    writeFileSync(passwordFile, this.#password);
    if (account !== null) {
      for (const path of [this.#directory, this.#dataDirectory, passwordFile]) chownSync(path, account.uid, account.gid);
    }
    const options = ['--encoding=UTF8', '--locale=C', '--no-sync', '--auth=scram-sha-256', `--username=${SUPERUSER}`];
    const configuration = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    await promisify(execFile)(initdb, [`--pgdata=${this.#data}`, `--pwfile=${passwordFile}`, ...options, ...configuration], {
      ...account,
      cwd: this.#directory,
    });
  }

  async #startOnFreePort(): Promise<void> {
    for (let tries = 1; ; tries++) {
      this.#port = randomInt(PORTS.first, PORTS.end);
      try {
        await this.start();
        return;
      } catch (error) {
        if (tries === PORT_TRIES || !String(error).includes(PORT_TAKEN)) throw error;
      }
    }
  }

  /** What it said when it could not start; null: it has started. */
  async #tryToStart(deadline: number): Promise<string | null> {
    if (this.#executables === null) throw new Error('It is not set up');
    const { postgres, account } = this.#executables;
    // A file takes whatever is written: a pipe that is not read would stop the server.
    const log = openSync(this.#log, 'w');
    const child = spawn(postgres, ['-D', this.#data, '-p', String(this.#port)], {
      ...account,
      cwd: this.#directory,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#process = child;
    while (!this.#isReady(child)) {
      if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) return readFileSync(this.#log, 'utf8');
      await sleep(POLL_MS);
    }
    return null;
  }

  /** As PostgreSQL's own pg_ctl finds out: the last line of the file that names the process says what it does. */
  #isReady(child: ChildProcess): boolean {
    try {
      const lines = readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n');
      return lines[0] === String(child.pid) && lines[7]?.trim() === 'ready';
    } catch {
      return false;
    }
  }

  async #hasExited(timeoutMs: number): Promise<boolean> {
    const child = this.#process;
    const deadline = Date.now() + timeoutMs;
    while (child !== null && child.exitCode === null && child.signalCode === null) {
      if (Date.now() > deadline) return false;
      await sleep(POLL_MS);
    }
    return true;
  }
}
