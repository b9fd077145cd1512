import type { ServerResponse } from 'node:http';

/** Counts the streams of server-sent events that are open. */
export class EventStreams {
  readonly #onChange: (open: number) => void;
  #open = 0;

  constructor(
    readonly limit: number,
    onChange: (open: number) => void,
  ) {
    this.#onChange = onChange;
  }

  get isFull(): boolean {
    return this.#open >= this.limit;
  }

  /** Counts the response until it has ended, or its peer is gone. */
  add(response: ServerResponse): void {
    if (response.destroyed) return;
    this.#onChange((this.#open += 1));
    response.once('close', () => this.#onChange((this.#open -= 1)));
  }
}
