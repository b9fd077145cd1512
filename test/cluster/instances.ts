import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServerProcess, type ServerProcess } from '../support/server-process.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { clockOffset, type Environment } from './clock-offset.js';

const RESTART_TIMEOUT_MS = 30_000;
const RESTART_PAUSE_MS = 200;
/** What the service promises, and a little for a machine that is busy. */
const SHUTDOWN_TIMEOUT_MS = 12_000;
const READY_TIMEOUT_MS = 30_000;
const READY_PAUSE_MS = 50;

/** The message under which the service logs what it can't explain. */
const INTERNAL_ERROR = '"internal error"';

export interface InstanceOptions {
  readonly databaseUrl: string;
  readonly env?: Environment;
  readonly clockOffsetMs?: number;
}

/** A server process, with one network between it and the database and one between it and its clients. */
export class Instance {
  readonly name: string;
  /** The clients' way to it; keeps its address when the process is another one. */
  readonly front: TcpProxy;
  readonly #database: TcpProxy | null;
  readonly #env: Environment;
  #server: ServerProcess;
  #mayEnd = false;
  readonly #wrongEnds: string[] = [];
  readonly #internalErrors: string[] = [];

  private constructor(
    name: string,
    networks: { database: TcpProxy | null; front: TcpProxy },
    env: Environment,
    server: ServerProcess,
  ) {
    this.name = name;
    this.#database = networks.database;
    this.front = networks.front;
    this.#env = env;
    this.#server = server;
    this.#guard(server);
  }

  static async start(name: string, { databaseUrl, env = {}, clockOffsetMs = 0 }: InstanceOptions): Promise<Instance> {
    const database = databaseUrl.startsWith('file:') ? null : await TcpProxy.start(databaseUrl);
    const ownEnv = { ...env, DATABASE_URL: database?.through(databaseUrl) ?? databaseUrl };
    const server = await startServerProcess({ ...ownEnv, ...clockOffset(clockOffsetMs) });
    const front = await TcpProxy.start(server.url);
    return new Instance(name, { database, front }, ownEnv, server);
  }

  /** Its way to the database, if that is a server. */
  get database(): TcpProxy {
    if (this.#database === null) throw new Error('There is no network to a file');
    return this.#database;
  }

  /** Of its GraphQL endpoint; the same for all its processes. */
  get url(): string {
    return this.front.through(this.#server.url);
  }

  /** How its processes ended that were not asked to, or did not do it in order when they were. */
  get wrongEnds(): readonly string[] {
    return this.#wrongEnds;
  }

  /** What its processes logged of faults that are the service's own. */
  get internalErrors(): readonly string[] {
    return this.#internalErrors;
  }

  freeze(): void {
    this.#server.process.kill('SIGSTOP');
  }

  thaw(): void {
    this.#server.process.kill('SIGCONT');
  }

  /** Ends the process as a crash does. */
  async kill(): Promise<void> {
    this.#mayEnd = true;
    this.#server.process.kill('SIGKILL');
    await this.#server.exited;
  }

  /** Ends the process as an operator does. */
  async terminate(): Promise<void> {
    this.#mayEnd = true;
    this.#server.process.kill('SIGTERM');
    const how = await Promise.race([this.#server.exited, sleep(SHUTDOWN_TIMEOUT_MS, 'never', { ref: false })]);
    if (how !== 0) this.#wrongEnds.push(`SIGTERM ended it with ${how}`);
    await this.kill();
  }

  /** Starts another process after one that has ended. One that finds no database ends again, and is started again. */
  async restart(clockOffsetMs = 0): Promise<void> {
    const deadline = performance.now() + RESTART_TIMEOUT_MS;
    for (;;) {
      try {
        this.#server = await startServerProcess({ ...this.#env, ...clockOffset(clockOffsetMs) });
        break;
      } catch (error) {
        if (performance.now() > deadline) throw error;
        await sleep(RESTART_PAUSE_MS);
      }
    }
    this.#mayEnd = false;
    this.#guard(this.#server);
    this.front.leadTo(this.#server.url);
  }

  /** Makes its networks work and its process go on. */
  heal(): void {
    this.thaw();
    this.#database?.pass();
    this.front.pass();
  }

  /** Resolves once it says that it can take work. */
  async untilReady(): Promise<void> {
    const deadline = performance.now() + READY_TIMEOUT_MS;
    while (!(await this.#isReady())) {
      if (performance.now() > deadline) throw new Error(`${this.name} does not get ready`);
      await sleep(READY_PAUSE_MS);
    }
  }

  async #isReady(): Promise<boolean> {
    try {
      const health = new URL('/health/ready', this.url);
      return (await fetch(health, { headers: { connection: 'close' }, signal: AbortSignal.timeout(1_000) })).ok;
    } catch {
      return false;
    }
  }

  #guard(server: ServerProcess): void {
    if (server.process.stdout !== null) {
      createInterface(server.process.stdout).on('line', (line) => {
        if (line.includes(INTERNAL_ERROR)) this.#internalErrors.push(line);
      });
    }
    void server.exited.then((how) => {
      if (server === this.#server && !this.#mayEnd) this.#wrongEnds.push(`it ended by itself with ${how}`);
    });
  }
}

/** As many instances as there are names, on one database. They are ended when the test is over. */
export async function startInstances(names: readonly string[], options: InstanceOptions): Promise<Instance[]> {
  // One after the other: the first one brings the schema up to date.
  const instances: Instance[] = [];
  for (const name of names) instances.push(await Instance.start(name, options));
  return instances;
}
