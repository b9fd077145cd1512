import type { LostCause } from '../../../src/engine/lost-cause.js';
import type {
  AcquireAllCommand,
  AcquireCommand,
  ReleaseAllCommand,
  ReleaseCommand,
  RenewAllCommand,
  RenewCommand,
} from '../../../src/locks/commands.js';
import type { LockEventType } from '../../../src/locks/events.js';
import type { ConflictReason } from '../../../src/locks/outcomes.js';

export interface ReadQuestion {
  readonly kind: 'read';
  readonly resource: string;
}

export type Question = AcquireCommand | RenewCommand | ReleaseCommand | ReadQuestion;

/** What is asked for several locks at once. */
export type GroupQuestion = AcquireAllCommand | RenewAllCommand | ReleaseAllCommand;

export function isAboutSeveral(question: Question | GroupQuestion): question is GroupQuestion {
  return question.kind === 'acquire-all' || question.kind === 'renew-all' || question.kind === 'release-all';
}

/** Whether the service knows it when it comes a second time. */
export function isRecognisedAgain(question: Question | GroupQuestion): boolean {
  if (question.kind === 'acquire' || question.kind === 'acquire-all') return question.requestId !== null;
  if (question.kind === 'release-all') return question.locks.every(({ fencingToken }) => fencingToken !== null);
  return question.kind === 'release' && question.fencingToken !== null;
}

/** A lock as an answer showed it; moments are epoch milliseconds of the database's clock. */
export interface LockSeen {
  readonly owner: string;
  readonly fencingToken: bigint;
  readonly revision: bigint;
  readonly acquiredAt: number;
  readonly expiresAt: number;
  /** JSON text: names the request that acquired it. */
  readonly metadata: string | null;
}

export interface ReleaseSeen {
  readonly fencingToken: bigint;
  readonly revision: bigint;
  readonly releasedAt: number;
}

/** No answer came, or one that leaves it open: it may have happened or not, at any time after it was sent. */
interface Unknown {
  readonly kind: 'unknown';
}

/**
 * The service said that nothing was changed, or was never reached. What stood in line may have had its turn all the same, if that was
 * undone.
 */
interface NotDone {
  readonly kind: 'not-done';
}

/** What the caller was told. */
export type Told =
  /** @property reacquired null: the answer does not say. */
  | { readonly kind: 'acquired'; readonly lock: LockSeen; readonly reacquired: boolean | null }
  | { readonly kind: 'renewed'; readonly lock: LockSeen }
  | ({ readonly kind: 'released' } & ReleaseSeen)
  | { readonly kind: 'not-found' }
  | { readonly kind: 'forbidden'; readonly current: LockSeen | null }
  | { readonly kind: 'conflict'; readonly reason: ConflictReason; readonly current: LockSeen | null }
  | { readonly kind: 'seen'; readonly lock: LockSeen | null }
  /** Of one among several locks: that this one was held there. */
  | { readonly kind: 'in-the-way'; readonly lock: LockSeen }
  /** Of one among several locks: its request had acquired it before. */
  | { readonly kind: 'spent' }
  /** Of one among several locks: its owner does not hold it under that token. */
  | { readonly kind: 'not-held' }
  | Unknown
  | NotDone;

/** What an answer about several locks tells of each, by name. */
export type ByName<T> = ReadonlyMap<string, T>;

export type GroupTold =
  | { readonly kind: 'acquired-all'; readonly locks: ByName<LockSeen> }
  | {
      readonly kind: 'refused-all';
      readonly reason: ConflictReason;
      readonly resource: string;
      readonly blockedBy: ByName<LockSeen>;
    }
  | { readonly kind: 'renewed-all'; readonly locks: ByName<LockSeen>; readonly lost: readonly string[] }
  | { readonly kind: 'released-all'; readonly released: ByName<ReleaseSeen>; readonly notHeld: readonly string[] }
  | Unknown
  | NotDone;

/** A stretch of time, in milliseconds; `to` is Infinity where the end is unknown. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

interface CallOf<Q, T> {
  readonly id: number;
  readonly client: string;
  /** Where it was sent to. */
  readonly server: string;
  readonly question: Q;
  readonly told: T;
  /** By one monotonic clock: what orders calls. */
  readonly span: Span;
  /** The same by a clock that is the database's within {@link Tolerance}: what is compared to the moments told. */
  readonly wall: Span;
}

/**
 * One call of one client, from when it was sent until its answer came. The metadata of an acquire is its own: only a
 * repetition of it has the same. So the log tells whose acquisition each one is.
 */
export type Call = CallOf<Question, Told>;

/** One call for several locks; as {@link Call}. */
export type GroupCall = CallOf<GroupQuestion, GroupTold>;

export interface HoldQuestion {
  readonly kind: 'hold';
  readonly resource: string;
  readonly owner: string;
  readonly ttlMs: number;
  /** null: for as long as it takes; 0: not at all. */
  readonly waitMs: number | null;
  /** The acquisition to go on with; null: a new one. */
  readonly fencingToken: bigint | null;
  readonly metadata: string | null;
}

export type HoldTold =
  | { readonly kind: 'queued'; readonly position: number }
  | Extract<Told, { readonly kind: 'acquired' | 'renewed' | 'conflict' }>
  | { readonly kind: 'lost'; readonly fencingToken: bigint; readonly cause: LostCause };

/** When something came, by the clocks of {@link Call.span} and {@link Call.wall}. */
export interface Arrival<T> {
  readonly told: T;
  readonly at: number;
  readonly wall: number;
}

/** How a subscription came to its end. */
export type HoldEnd =
  /** Its client said that it was done. */
  | 'completed'
  /** The connection broke, or the service did not answer. */
  | 'cut'
  /** The service ended it, after its last update. */
  | 'over'
  /** The service refused it, and said that nothing was changed. */
  | 'not-done';

/** A subscription that holds a lock, from when it was sent until it ended for its client, and what it was told. */
export interface HoldCall extends Omit<CallOf<HoldQuestion, never>, 'told'> {
  readonly updates: readonly Arrival<HoldTold>[];
  readonly end: HoldEnd;
}

/** When a server may have been out of reach of the database, by the clock of {@link Call.wall}. */
export interface Outage extends Span {
  /** null: all of them were. */
  readonly server: string | null;
}

/** All that was asked and told. */
export interface History {
  readonly calls: readonly Call[];
  readonly groups: readonly GroupCall[];
  readonly holds: readonly HoldCall[];
  /** Who waits on a server that is out of reach of the database may be passed over; the cause of a loss may be guessed there. */
  readonly outages: readonly Outage[];
}

/** One change as the log tells it. */
export interface Change extends Omit<LockSeen, 'acquiredAt'> {
  readonly type: LockEventType;
  readonly resource: string;
  readonly at: number;
  /** null where the log does not tell it: of what has ended. */
  readonly acquiredAt: number | null;
}

/** How far the recorder's wall clock may be from the one by which the service judged, in milliseconds, either way. */
export interface Tolerance {
  /** Of a command: it is decided by the database's clock itself. */
  readonly commandMs: number;
  /** Of a read: an instance may estimate the database's time. */
  readonly readMs: number;
}

/** Where the history and the rules part. */
export interface Violation {
  readonly problem: string;
  readonly resource: string;
  readonly call?: Call | GroupCall | HoldCall;
  readonly change?: Change;
}

/** How messages and test failures show a violation. */
export function describe({ problem, resource, call, change }: Violation): string {
  const details = { ...(change && { change }), ...(call && { call }) };
  return `${resource}: ${problem} ${JSON.stringify(details, plain)}`;
}

function plain(_key: string, value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries(value) as unknown;
  return typeof value === 'bigint' ? String(value) : value;
}
