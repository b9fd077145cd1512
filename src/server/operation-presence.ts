import type { CallerPresence } from '../engine/caller-presence.js';

type Returned = IteratorReturnResult<undefined>;

/** Stands for an operation with one answer where graphql-ws keeps its streams: returned, it says that nobody waits any more. */
export class OperationPresence implements CallerPresence, AsyncGenerator<never, undefined, void> {
  aborted = false;
  #listener: (() => void) | null = null;

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listener = listener;
  }

  removeEventListener(): void {
    this.#listener = null;
  }

  next(): Promise<Returned> {
    return Promise.resolve({ done: true, value: undefined });
  }

  return(): Promise<Returned> {
    this.aborted = true;
    this.#listener?.();
    return this.next();
  }

  throw(): Promise<Returned> {
    return this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
