import type { ExecutionResult } from 'graphql';
import type { MaskError } from './errors.js';

/** The results of a subscription, as they come. `return` ends it and frees what it holds. */
export type ResultStream = AsyncGenerator<ExecutionResult, void, void>;

type Next = IteratorResult<ExecutionResult, void>;

/**
 * The results of the items of a source, which ends with them. What goes wrong is thrown masked, and then it has ended.
 *
 * Not an async generator: its `return` would wait for a `next` that may never come, and it would take more memory while it
 * waits.
 */
export class Results implements ResultStream {
  readonly #items: AsyncIterator<object, void>;
  readonly #execute: (item: object) => ExecutionResult | Promise<ExecutionResult>;
  readonly #maskError: MaskError;
  #onEnd: (() => void) | null;

  /** @param onEnd called once */
  constructor(
    items: AsyncIterator<object, void>,
    execute: (item: object) => ExecutionResult | Promise<ExecutionResult>,
    maskError: MaskError,
    onEnd: () => void,
  ) {
    this.#items = items;
    this.#execute = execute;
    this.#maskError = maskError;
    this.#onEnd = onEnd;
  }

  next(): Promise<Next> {
    return this.#items
      .next()
      .then((item) => (item.done === true ? this.return() : this.#resultOf(item.value)))
      .catch(this.#fail);
  }

  async return(): Promise<Next> {
    this.#onEnd?.();
    this.#onEnd = null;
    await this.#items.return?.();
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<Next> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #resultOf(item: object): Next | Promise<Next> {
    const result = this.#execute(item);
    return result instanceof Promise ? result.then((value) => ({ done: false, value })) : { done: false, value: result };
  }

  readonly #fail = async (error: unknown): Promise<never> => {
    await this.return();
    throw this.#maskError(error);
  };
}
