import type { CallerPresence } from '../engine/caller-presence.js';
import type { Engine } from '../engine/engine.js';
import type { PrismaReader } from '../store/prisma-clients.js';
import { queueLengths } from '../store/reads/queue-lengths.js';
import type { StreamPosition } from './stream-position.js';

/** What the operator allows requests to ask for; shown as `server.limits`. */
export interface Limits {
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
  readonly limits: Limits;
  /** Of the product. */
  readonly version: string;
}

/** What a transport knows of the one who asks. */
export interface Caller {
  /** null: the transport has no way of its own to resume. */
  readonly position: StreamPosition | null;
  /** Aborts when nobody waits for the answer any more. Only an operation that may take long asks for it. */
  readonly gone: () => CallerPresence;
  /** Of a stream that is returned: whether the one who asked said that it is done; else it may have been cut off. */
  readonly hasCompleted: () => boolean;
}

/** One operation's view of the services. */
export interface GraphQLContext extends Services, Caller {
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

  /** How many stand in line for the resource: read together for all that is asked for at one moment. */
  readonly queueLength: (resource: string) => Promise<number>;
}

/** A context for one operation: never shared among operations. */
export function createContext(services: Services, { position, gone, hasCompleted }: Caller): GraphQLContext {
  const { engine, prisma, limits, version } = services;
  let now: Promise<number> | null = null;
  let asked: { readonly resources: Set<string>; readonly lengths: Promise<Map<string, number>> } | null = null;
  const askForLines = () => {
    const resources = new Set<string>();
    const lengths = (now ??= engine.now()).then((moment) => {
      asked = null;
      return queueLengths(prisma, [...resources], moment);
    });
    return { resources, lengths };
  };
  return {
    engine,
    prisma,
    limits,
    version,
    position,
    gone,
    hasCompleted,
    now: () => (now ??= engine.now()),
    startAnswer: () => {
      now = null;
    },
    queueLength: async (resource) => {
      asked ??= askForLines();
      asked.resources.add(resource);
      return (await asked.lengths).get(resource) ?? 0;
    },
  };
}
