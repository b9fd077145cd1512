import type { Engine } from '../engine/engine.js';
import type { Turns } from '../engine/turns.js';
import type { PrismaReader } from '../store/prisma-clients.js';
import type { StreamPosition } from './stream-position.js';

/** What the operator allows requests to ask for; shown as `server.limits`. */
export interface Limits {
  readonly defaultTtlMs: number;
  readonly maxTtlMs: number;
  readonly retryWindowMs: number;
}

/** What the resolvers work with: the same for all operations. */
export interface Services {
  readonly engine: Engine;
  /** For reads only: writes go through the engine. */
  readonly prisma: PrismaReader;
  readonly limits: Limits;
  /** Of the product. */
  readonly version: string;
}

/** One operation's view of the services. */
export interface GraphQLContext extends Services {
  /** null: the transport has no way of its own to resume. */
  readonly position: StreamPosition | null;
  /** In which the watches of one connection read; null: it has one alone. */
  readonly turns: Turns | null;

  /**
   * The store's time in epoch milliseconds: asked for once and then the same for the whole answer, so that no two of its
   * fields disagree on whether a lock has expired.
   */
  readonly now: () => Promise<number>;

  /**
   * Starts another answer within the operation: `now` asks again. For the items of a subscription, and for the mutations
   * of one document, each of which answers as of a moment after it.
   */
  readonly startAnswer: () => void;
}

/** A context for one operation: never shared among operations. */
export function createContext(services: Services, position: StreamPosition | null, turns: Turns | null): GraphQLContext {
  const { engine, prisma, limits, version } = services;
  let now: Promise<number> | null = null;
  return {
    engine,
    prisma,
    limits,
    version,
    position,
    turns,
    now: () => (now ??= engine.now()),
    startAnswer: () => {
      now = null;
    },
  };
}
