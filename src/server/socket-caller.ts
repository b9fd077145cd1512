import type { Context } from 'graphql-ws';
import type { CallerPresence } from '../engine/caller-presence.js';
import type { ReadTurns } from '../engine/read-turns.js';
import type { Caller } from '../graphql/context.js';
import { OperationPresence } from './operation-presence.js';

/** What is to be known of its socket. */
type SocketContext = Context<Record<string, unknown>, { readonly turns: ReadTurns; readonly closed: boolean }>;

/** Who waits for one operation of a socket. */
export class SocketCaller implements Caller {
  readonly position = null;
  readonly turns: ReadTurns;
  readonly #context: SocketContext;
  readonly #id: string;

  constructor(context: SocketContext, id: string) {
    this.turns = context.extra.turns;
    this.#context = context;
    this.#id = id;
  }

  /** Aborts when the client completes the operation, or its socket closes: then the protocol returns what stands for it. */
  gone(): CallerPresence {
    const operations = this.#context.subscriptions;
    if (!(this.#id in operations)) return AbortSignal.abort();
    const presence = new OperationPresence();
    operations[this.#id] = presence;
    return presence;
  }

  hasCompleted(): boolean {
    return !this.#context.extra.closed;
  }
}
