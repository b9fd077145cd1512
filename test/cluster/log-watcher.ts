import { setTimeout as sleep } from 'node:timers/promises';
import type { GraphQLAnswerError } from '../support/http-client.js';
import { WebSocketClient, type Message } from '../support/websocket-client.js';
import type { Change } from './checker/history.js';
import { toChange, WATCH_LOG, type ChangeView } from './log-view.js';

const HANDSHAKE_TIMEOUT_MS = 3_000;
const RESUME_AFTER_MS = 100;
const POLL_MS = 20;

type Item =
  | ({ readonly __typename: 'LockEvent' } & ChangeView)
  | { readonly __typename: 'LockBookmark'; readonly logId: string; readonly revision: string }
  | { readonly __typename: 'LockSnapshot'; readonly logId: string; readonly revision: string; readonly reason: string };

interface Payload {
  readonly data?: { readonly lockChanges: Item } | null;
  readonly errors?: readonly GraphQLAnswerError[];
}

export interface LogWatcherOptions {
  /** Of instances; each subscription goes to the next of them. */
  readonly urls: readonly string[];
  readonly resumeAfterMs?: number;
}

/** What a client knows of the log that resumes its watch from its last revision whenever it breaks off. */
export class LogWatcher {
  readonly changes: Change[] = [];
  /** When each of the changes came, in epoch milliseconds. */
  readonly arrivals: number[] = [];
  /** Whatever a watch that resumes exactly is never told. */
  readonly faults: string[] = [];
  /** How often it has subscribed. */
  subscriptions = 0;
  readonly #options: LogWatcherOptions;
  #logId: string | null = null;
  #client: WebSocketClient | null = null;
  #isStopped = false;
  readonly #ended: Promise<void>;

  /** It begins with the first change that there ever was. */
  constructor(options: LogWatcherOptions) {
    this.#options = options;
    this.#ended = this.#watch();
  }

  get revision(): bigint {
    return this.changes.at(-1)?.revision ?? 0n;
  }

  /** Breaks the connection off; it resumes. */
  cut(): void {
    this.#client?.socket.terminate();
  }

  /** Resolves once it has been told everything up to that revision. */
  async reach(revision: bigint, timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (this.revision < revision) {
      if (performance.now() > deadline) throw new Error(`The watch stands at ${this.revision}, and not at ${revision}`);
      await sleep(POLL_MS);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.cut();
    await this.#ended;
  }

  async #watch(): Promise<void> {
    const { urls, resumeAfterMs = RESUME_AFTER_MS } = this.#options;
    while (!this.#isStopped) {
      await this.#watchUntilCut(urls[this.subscriptions % urls.length] as string);
      this.cut();
      await sleep(resumeAfterMs);
    }
  }

  async #watchUntilCut(url: string): Promise<void> {
    try {
      this.#client = await WebSocketClient.open(url, { handshakeTimeout: HANDSHAKE_TIMEOUT_MS });
    } catch {
      // The server can't be reached at the moment.
      return;
    }
    if (this.#isStopped) return;
    this.subscriptions++;
    this.#client.subscribe('watch', WATCH_LOG, { after: String(this.revision), logId: this.#logId });
    for await (const message of this.#client) if (!this.#take(message)) break;
  }

  /** Whether more may follow. */
  #take({ type, payload }: Message): boolean {
    if (type === 'ping' || type === 'pong') return true;
    const { data, errors } = (type === 'error' ? { errors: payload } : (payload ?? {})) as Payload;
    if (errors?.every(({ extensions }) => extensions.code === 'UNAVAILABLE') === false) this.faults.push(JSON.stringify(errors));
    if (data == null) return false;
    const item = data.lockChanges;
    if (item.__typename === 'LockSnapshot') this.faults.push(`${item.reason} at ${item.revision} after ${this.revision}`);
    else if (item.__typename === 'LockEvent') this.#learn(item);
    else this.#logId ??= item.logId;
    return true;
  }

  #learn(view: ChangeView): void {
    const change = toChange(view);
    if (change.revision <= this.revision) this.faults.push(`${change.revision} after ${this.revision}`);
    this.changes.push(change);
    this.arrivals.push(Date.now());
  }
}
