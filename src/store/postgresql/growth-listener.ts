import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { CHANNEL } from './announcer.js';
import { reasonFor } from '../fault-reasons.js';
import { connectionConfig, endConnection, processOf } from './connections.js';

/** How often the log is looked at though nobody told of a change: a notice can be lost, with the connection or by a pooler. */
const POLL_MS = 1000;
/** A connection that broke without a sign is found out by a question that gets no answer. */
const PROBE_MS = 2000;
const PROBE_TIMEOUT_MS = 2000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5000;

export interface GrowthListenerOptions {
  /** null: it only polls. */
  readonly databaseUrl: string | null;
  readonly wake: (revision?: bigint) => void;
  /** Processes of the database whose notices are left out. */
  readonly ownProcesses: ReadonlySet<number>;
  /** Told why it can't listen, when that begins; null: it can again. */
  readonly onListening: (reason: string | null) => void;
}

/**
 * Wakes whenever the log may have grown: at once where a commit of any instance is notified, else within a second. A notice
 * says only that there is something to read, so one that is lost or comes twice does no harm.
 */
export class GrowthListener {
  readonly #options: GrowthListenerOptions;
  readonly #poll: NodeJS.Timeout;
  #client: pg.Client | null = null;
  #sessionKey: bigint | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #isClosed = false;

  constructor(options: GrowthListenerOptions) {
    this.#options = options;
    this.#poll = setInterval(() => {
      options.wake();
    }, POLL_MS).unref();
    void this.#listen();
  }

  /**
   * The advisory lock that the session holds in which it listens: once it can be had, the session has ended, and the process
   * with it, or it will listen anew soon. Null: there is none, or it may not be the process's own.
   */
  get sessionKey(): bigint | null {
    return this.#sessionKey;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#poll);
    clearTimeout(this.#timer);
    if (this.#client !== null) await endConnection(this.#client);
  }

  async #listen(): Promise<void> {
    const { databaseUrl, wake } = this.#options;
    if (databaseUrl === null) return;
    let client: pg.Client | null = null;
    try {
      client = this.#client = this.#createClient(databaseUrl);
      await client.connect();
      this.#sessionKey = await takeSessionKey(client);
      await client.query(`LISTEN ${CHANNEL}`);
      this.#pauseMs = FIRST_PAUSE_MS;
      // What was committed before that was notified to nobody.
      wake();
      this.#tell(null);
      this.#probeLater(client);
    } catch (error) {
      this.#tell(reasonFor(error));
      if (client === null) this.#listenAgain();
      else await endConnection(client);
    }
  }

  /** @throws where the URL names what is not there: a certificate, say. */
  #createClient(databaseUrl: string): pg.Client {
    const { wake, ownProcesses } = this.#options;
    const client = new pg.Client({ ...connectionConfig(databaseUrl), query_timeout: PROBE_TIMEOUT_MS });
    client.on('notification', ({ processId, payload }) => {
      if (!ownProcesses.has(processId)) wake(revisionIn(payload));
    });
    // It always ends after an error, which is where a new one is made.
    client.on('error', () => undefined);
    client.once('end', () => {
      this.#sessionKey = null;
      this.#listenAgain();
    });
    return client;
  }

  #tell(reason: string | null): void {
    const isFailing = reason !== null;
    if (isFailing === this.#isFailing || this.#isClosed) return;
    this.#isFailing = isFailing;
    this.#options.onListening(reason);
  }

  #probeLater(client: pg.Client): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      client.query('SELECT 1').then(
        () => {
          this.#probeLater(client);
        },
        () => endConnection(client),
      );
    }, PROBE_MS).unref();
  }

  #listenAgain(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#listen(), this.#pauseMs).unref();
    this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_PAUSE_MS);
  }
}

/**
 * Takes an advisory lock that is the session's alone. Null: what lies between, a pooler, may give the session to others, and keep it
 * when the process is no more. It has told the driver another number than the process of the database has.
 */
async function takeSessionKey(client: pg.Client): Promise<bigint | null> {
  const key = randomBytes(8).readBigInt64LE();
  const { rows } = await client.query<{ isTaken: boolean }>(
    `SELECT CASE WHEN pg_backend_pid() = ${processOf(client)} THEN pg_try_advisory_lock(${key}) END AS "isTaken"`,
  );
  return rows[0]?.isTaken === true ? key : null;
}

/** Everybody may notify on any channel, of anything. */
function revisionIn(payload = ''): bigint | undefined {
  return /^\d{1,19}$/.test(payload) ? BigInt(payload) : undefined;
}
