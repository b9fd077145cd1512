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
  #ended: Error | null = null;

  private constructor(thread: Worker) {
    this.#thread = thread;
    thread.on('message', (reply: WriterReply) => this.#settle(reply));
    thread.on('error', (error) => this.#end(error));
    thread.on('exit', () => this.#end(new Error('The writer thread has ended')));
  }

  /** @throws StoreUnavailable where the database can't be opened for writing. */
  static async start(workerData: WriterThreadData): Promise<WriterClient> {
    const writer = new WriterClient(new Worker(new URL('./writer-thread.js', import.meta.url), { workerData }));
    await writer.request({ kind: 'open' });
    return writer;
  }

  /** Whether it takes requests. */
  get isRunning(): boolean {
    return this.#ended === null;
  }

  request<K extends WriterRequest['kind']>(request: Extract<WriterRequest, { kind: K }>): Promise<WriterAnswers[K]> {
    if (this.#ended !== null) {
      return Promise.reject(new StoreUnavailable('The writer has stopped', false, { cause: this.#ended }));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve: resolve as Waiting['resolve'], reject });
      this.#thread.postMessage(request);
    });
  }

  #settle(reply: WriterReply): void {
    const waiting = this.#waiting.shift();
    if (reply.ok) waiting?.resolve(reply.value);
    else waiting?.reject(this.#errorOf(reply));
  }

  #errorOf({ error, unavailable }: Extract<WriterReply, { ok: false }>): Error {
    if (unavailable === null) return error;
    return new StoreUnavailable(error.message, unavailable.applied, { cause: error.cause });
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.splice(0)) {
      reject(new StoreUnavailable('The writer stopped before it answered', null, { cause: error }));
    }
  }
}
