import { expect } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { post } from '../../support/http-client.js';

/** Within this a probe must see that the database is gone, and see that it is back. */
const UNREADY_WITHIN_MS = 5_000;
const READY_WITHIN_MS = 10_000;

const WRITES = {
  acquire: 'mutation { acquireLock(input: { resource: "job", owner: "A" }) { __typename } }',
  renew: 'mutation { renewLock(input: { resource: "job", owner: "A" }) { __typename } }',
};
const READS = {
  lock: '{ lock(resource: "job") { owner remainingMs } }',
  locks: '{ locks { totalCount edges { node { resource } } } }',
  locksByExpiry: '{ locks(orderBy: EXPIRES_AT) { totalCount edges { node { resource } } } }',
  lockEvents: '{ lockEvents { edges { node { revision } } } }',
  server: '{ server { now revision } }',
};

/** Nothing of the database's own words: no host, no account, no SQL. */
const UNAVAILABLE = {
  message: 'The database did not answer, or the server is overloaded or shutting down',
  extensions: { code: 'UNAVAILABLE', retryable: true, applied: false },
};

/** The whole service, as its callers and its probes see it while the database is there and while it is not. */
export class Service {
  readonly #app: TestApp;

  private constructor(app: TestApp) {
    this.#app = app;
  }

  static async start(databaseUrl: string): Promise<Service> {
    const service = new Service(await startTestApp({ env: { DATABASE_URL: databaseUrl } }));
    await service.expectToWork();
    return service;
  }

  async expectToWork(): Promise<void> {
    await this.#expectAnswers({ ...WRITES, ...READS });
  }

  /** Every operation is told that the database is gone, and every probe. */
  async expectOutage(): Promise<void> {
    await this.#expectUnavailable({ ...WRITES, ...READS });
    await this.#expectUnready();
  }

  /** Who wants to write is told that this can't be done now; who reads is answered. */
  async expectOutageOfWrites(): Promise<void> {
    await this.#expectUnavailable(WRITES);
    await this.#expectAnswers(READS);
    await this.#expectUnready();
  }

  /** By itself, in the same process. */
  async expectRecovery(): Promise<void> {
    await expect.poll(() => this.#health('ready'), { timeout: READY_WITHIN_MS, interval: 100 }).toBe(200);
    await this.expectToWork();
  }

  async #expectUnavailable(operations: Readonly<Record<string, string>>): Promise<void> {
    const expected = Object.fromEntries(Object.keys(operations).map((name) => [name, [UNAVAILABLE]]));
    expect(await this.#errorsOf(operations)).toEqual(expected);
  }

  async #expectAnswers(operations: Readonly<Record<string, string>>): Promise<void> {
    const expected = Object.fromEntries(Object.keys(operations).map((name) => [name, null]));
    expect(await this.#errorsOf(operations)).toEqual(expected);
  }

  /** What is wrong with each of them, asked for at once; null: nothing. */
  async #errorsOf(operations: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
    const asked = Object.entries(operations).map(async ([name, operation]) => {
      const { errors } = await post(this.#app.url, operation);
      return [name, errors?.map(({ message, extensions }) => ({ message, extensions })) ?? null] as const;
    });
    return Object.fromEntries(await Promise.all(asked));
  }

  async #expectUnready(): Promise<void> {
    await expect.poll(() => this.#health('ready'), { timeout: UNREADY_WITHIN_MS, interval: 100 }).toBe(503);
    expect(await this.#health('live')).toBe(200);
  }

  async #health(probe: 'ready' | 'live'): Promise<number> {
    return (await fetch(`${this.#app.origin}/health/${probe}`, { headers: { connection: 'close' } })).status;
  }
}
