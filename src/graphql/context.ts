import type { CallerPresence } from '../engine/caller-presence.js';
import type { Engine } from '../engine/engine.js';
import type { ReadTurns } from '../engine/read-turns.js';
import type { PrismaReader } from '../store/prisma-clients.js';
import { queueLengths } from '../store/reads/queue-lengths.js';
import type { StreamPosition } from './stream-position.js';

/** What the operator allows requests to ask for; shown as `server.limits`. */
export interface TimeLimits {
  readonly defaultTtlMs: number;
  readonly maxTtlMs: number;
  readonly maxWaitMs: number;
  readonly retryWindowMs: number;
}

/** What the resolvers work with: the same for all operations. */
export interface Services {
  readonly engine: Engine;
  /** For reads only: writes go through the engine. */
  readonly prisma: PrismaReader;
  readonly limits: TimeLimits;
  /** Of the product. */
  readonly version: string;
}

/** The one who asks, as a transport knows it. */
export interface Caller {
  /** null: the transport has no way of its own to resume. */
  readonly position: StreamPosition | null;
  /** In which the watches of one connection read; null: it has one alone. */
  readonly turns: ReadTurns | null;
  /** Whether somebody still waits for the answer. Only an operation that may take long asks for it. */
  gone(): CallerPresence;
  /** Of a stream that is returned: whether the one who asked said that it is done; else it may have been cut off. */
  hasCompleted(): boolean;
}

/** One operation's view of the services: never shared among operations. */
export class GraphQLContext implements Services {
  readonly engine: Engine;
  readonly prisma: PrismaReader;
  readonly limits: TimeLimits;
  readonly version: string;
  readonly caller: Caller;
  #now: Promise<number> | null = null;
  #lines: AskedLines | null = null;

  constructor({ engine, prisma, limits, version }: Services, caller: Caller) {
    this.engine = engine;
    this.prisma = prisma;
    this.limits = limits;
    this.version = version;
    this.caller = caller;
  }

  /**
   * The store's time in epoch milliseconds: asked for once and then the same for the whole answer, so that no two of its
   * fields disagree on whether a lock has expired.
   */
  now(): Promise<number> {
    return (this.#now ??= this.engine.now());
  }

  /**
   * Starts another answer within the operation: `now` asks again. For the items of a subscription, and for the mutations
   * of one document, each of which answers as of a moment after it.
   */
  startAnswer(): void {
    this.#now = null;
  }

  /** How many stand in line for the resource: read together for all that is asked for at one moment. */
  async queueLength(resource: string): Promise<number> {
    const asked = (this.#lines ??= this.#askForLines());
    asked.resources.add(resource);
    return (await asked.lengths).get(resource) ?? 0;
  }

  #askForLines(): AskedLines {
    const resources = new Set<string>();
    const asked = this.now().finally(() => (this.#lines = null));
    const lengths = asked.then((now) => queueLengths(this.prisma, [...resources], now));
    return { resources, lengths };
  }
}

interface AskedLines {
  readonly resources: Set<string>;
  readonly lengths: Promise<ReadonlyMap<string, number>>;
}
