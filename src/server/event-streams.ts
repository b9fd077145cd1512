import type { ServerResponse } from 'node:http';
import { LIMITS } from './limits.js';

/** Counts the streams of server-sent events that are open. */
export class EventStreams {
  readonly #onChange: (open: number) => void;
  #open = 0;

  constructor(onChange: (open: number) => void) {
    this.#onChange = onChange;
  }

  get isFull(): boolean {
    return this.#open >= LIMITS.eventStreams;
  }

  /** Counts the response until it has ended, or its peer is gone. */
  add(response: ServerResponse): void {
    if (response.destroyed) return;
    this.#onChange((this.#open += 1));
    response.once('close', () => this.#onChange((this.#open -= 1)));
  }
}
