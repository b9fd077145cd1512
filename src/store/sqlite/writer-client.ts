import { Worker } from 'node:worker_threads';

import { StoreUnavailable } from '../lock-store.js';
import type { WriterAnswers, WriterReply, WriterRequest, WriterThreadData } from './writer-thread.js';

interface Waiting {
  readonly resolve: (value: WriterAnswers[keyof WriterAnswers]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The writing connection, in a thread of its own: a COMMIT waits for the disk, and nothing else must wait with it.
 */
export class WriterClient {
  readonly #thread: Worker;
  /** In the order of their requests, in which the replies come, too. */
  readonly #waiting: Waiting[] = [];
  #isClosed = false;

  private constructor(thread: Worker) {
    this.#thread = thread;
    // Its errors are left alone: a thread that broke for a reason that it could not answer with ends the process.
    thread.on('message', (reply: WriterReply) => {
      this.#settle(reply);
    });
  }

  /** @throws StoreUnavailable where the database can't be opened for writing. */
  static async start(workerData: WriterThreadData): Promise<WriterClient> {
    const writer = new WriterClient(new Worker(new URL('./writer-thread.js', import.meta.url), { workerData }));
    await writer.request({ kind: 'open' });
    return writer;
  }

  request<K extends WriterRequest['kind']>(request: Extract<WriterRequest, { kind: K }>): Promise<WriterAnswers[K]> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('The database was let go', false));
    return new Promise((resolve, reject) => {
      // First of all: what can't be sent gets no reply.
      this.#thread.postMessage(request);
      this.#waiting.push({ resolve: resolve as Waiting['resolve'], reject });
    });
  }

  /** Answers what was requested, then ends the thread. */
  async close(): Promise<void> {
    const closed = this.request({ kind: 'close' });
    this.#isClosed = true;
    await closed;
  }

  #settle(reply: WriterReply): void {
    const waiting = this.#waiting.shift();
    if (reply.ok) waiting?.resolve(reply.value);
    else waiting?.reject(errorOf(reply));
  }
}

function errorOf({ error, unavailable }: Extract<WriterReply, { ok: false }>): Error {
  if (unavailable === null) return error;
  return new StoreUnavailable(error.message, unavailable.applied, { cause: error.cause });
}
