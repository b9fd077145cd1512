import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect } from 'vitest';
import { createDatabase, provider } from '../support/database.js';
import { whenOver } from '../support/shared.js';
import { startServerProcess, type ServerProcess } from '../support/server-process.js';
import { isSoak, rounds } from '../support/rounds.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const COLLECT_GARBAGE = fileURLToPath(new URL('../support/collect-garbage.js', import.meta.url));

/** What is short, so that every wait and every lock comes to its end while a test looks on, and what is small, so that it is full soon. */
const ENVIRONMENT = {
  MAX_WAIT_MS: '30',
  MAX_TTL_MS: '2000',
  DEFAULT_TTL_MS: '300',
  INIT_TIMEOUT_MS: '300',
  CACHED_DOCUMENTS: '20',
};

const OPEN = ['holdfast_watchers', 'holdfast_event_streams', 'holdfast_websockets', 'holdfast_waiting_calls'] as const;

/** What half of a run may leave in use beside what the other half left: what varies from one collection to the next. */
const HEAP_GROWTH_BYTES = 4_000_000;
const ANSWER_MS = 5_000;
const SETTLE_MS = 10_000;
/** What half of a run may take, and with it the search for a shorter value that fails, too. */
const HALF_MS = isSoak ? 600_000 : 40_000;
/** What a run may take. */
export const TIME_MS = 2 * HALF_MS + 20_000;
const ERROR_LEVEL = 50;

/** A server in a process of its own, which has to outlive whatever it is sent. */
export class FuzzedServer {
  readonly url: string;
  readonly origin: string;
  readonly #server: ServerProcess;
  readonly #warnings: string;
  #log = '';
  #ended: number | string | null = null;

  static async start(): Promise<FuzzedServer> {
    const warnings = join(temporaryDirectory(), 'warnings');
    const server = await startServerProcess({
      DATABASE_URL: await createDatabase(),
      NODE_OPTIONS: `--redirect-warnings=${warnings} --import=${COLLECT_GARBAGE}`,
      ...ENVIRONMENT,
    });
    const fuzzed = new FuzzedServer(server, warnings);
    // What is made when it is first asked for, and kept, is no leak: the page of GraphiQL takes 50 MB.
    await fuzzed.#get('/graphql', { accept: 'text/html' });
    return fuzzed;
  }

  private constructor(server: ServerProcess, warnings: string) {
    this.url = server.url;
    this.origin = new URL(server.url).origin;
    this.#server = server;
    this.#warnings = warnings;
    server.process.stdout!.on('data', (chunk: Buffer) => (this.#log += chunk.toString()));
    void server.exited.then((code) => (this.#ended = code));
    whenOver(() => this.#stop());
  }

  /**
   * Tries values until one of them fails; then a value as short as can be found is shown, with the seed that leads to it. The
   * server is looked at after each half: what is left of the first, in memory or open, may be left of the second, and no more.
   *
   * @param tries in a soak; in a quick run at most `quick` of them.
   */
  async survive<T>(
    values: fc.Arbitrary<T>,
    tries: { full: number; quick: number },
    send: (value: T) => Promise<void>,
  ): Promise<void> {
    const property = fc.asyncProperty(values, async (value) => {
      await send(value);
      this.#expectUnharmed();
    });
    const seed = process.env['HOLDFAST_FUZZ_SEED'];
    const left: { readonly heap: number; readonly files: number }[] = [];
    for (let half = 0; half < 2; half++) {
      await fc.assert(property, {
        numRuns: Math.ceil(rounds(tries.full, tries.quick) / 2),
        plugins: [fc.interruptAfterTimeLimit(HALF_MS)],
        ...(seed === undefined ? {} : { seed: Number(seed) + half }),
      });
      await this.#expectSettled();
      left.push({ heap: await this.#heapInUse(), files: await this.#metric('process_open_fds') });
    }
    const [first, second] = left;
    expect(second!.heap - first!.heap, 'bytes left in use').toBeLessThan(HEAP_GROWTH_BYTES);
    // How many connections to PostgreSQL there are depends on what was under way last.
    if (provider === 'postgresql') return;
    // The connection of the question before this one may still be closing.
    await expect.poll(() => this.#metric('process_open_fds'), { timeout: SETTLE_MS }).toBeLessThanOrEqual(first!.files);
  }

  /** Whatever came, the process runs, and found no fault in itself. */
  #expectUnharmed(): void {
    expect(this.#ended, 'the server has ended').toBeNull();
    this.#expectNoFault();
  }

  #expectNoFault(): void {
    const lines = this.#log.split('\n');
    // What has not been written to its end yet.
    this.#log = lines.pop() ?? '';
    // Each is seen once: a value that is tried next is not to be blamed for it.
    expect(lines.find((line) => (JSON.parse(line) as { level: number }).level >= ERROR_LEVEL)).toBeUndefined();
    if (existsSync(this.#warnings)) expect(readFileSync(this.#warnings, 'utf8')).toBe('');
  }

  /** It answers, and nothing is open any more. */
  async #expectSettled(): Promise<void> {
    expect((await this.#get('/health/live')).status).toBe(200);
    expect((await this.#get('/graphql?query={server{version}}')).body).toMatch(/"version":/);
    await expect
      .poll(() => Promise.all(OPEN.map((name) => this.#metric(name))), { timeout: SETTLE_MS, message: OPEN.join(', ') })
      .toEqual(OPEN.map(() => 0));
    // That on which it is asked is the only one.
    await expect.poll(() => this.#metric('holdfast_connections'), { timeout: SETTLE_MS }).toBe(1);
    this.#expectUnharmed();
  }

  async #heapInUse(): Promise<number> {
    this.#server.process.kill('SIGUSR2');
    // The signal comes to the process before the request does; it is dealt with between two of them.
    await this.#get('/health/live');
    return this.#metric('nodejs_heap_size_used_bytes');
  }

  async #metric(name: string): Promise<number> {
    const { body } = await this.#get('/metrics');
    const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1];
    if (value === undefined) throw new Error(`There is no metric ${name}`);
    return Number(value);
  }

  async #get(
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly body: string }> {
    const response = await fetch(`${this.origin}${path}`, {
      headers: { connection: 'close', ...headers },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    return { status: response.status, body: await response.text() };
  }

  /** It waits for whatever is under way: what can't end would keep it. */
  async #stop(): Promise<void> {
    const { process, exited } = this.#server;
    const logged = once(process.stdout!, 'close');
    process.kill('SIGTERM');
    expect(await exited).toBe(0);
    await logged;
    this.#expectNoFault();
  }
}
