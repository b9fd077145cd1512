import type { Lock } from './lock.js';
import type { Command } from './commands.js';

export interface Acquired {
  readonly kind: 'acquired';
  readonly lock: Lock;
  /** This owner held the lock already, unexpired: the earlier acquisition's token is dead now. */
  readonly reacquired: boolean;
}

export interface Renewed {
  readonly kind: 'renewed';
  readonly lock: Lock;
}

export interface Released {
  readonly kind: 'released';
  readonly resource: string;
  readonly fencingToken: bigint;
  readonly releasedAt: number;
  readonly revision: bigint;
}

/** Nothing is held under that name. */
export interface NotFound {
  readonly kind: 'not-found';
  readonly resource: string;
}

/** Somebody else holds it. */
export interface Forbidden {
  readonly kind: 'forbidden';
  readonly resource: string;
  readonly current: Lock;
}

export type ConflictReason =
  /** Somebody else holds the lock. */
  | 'HELD_BY_ANOTHER'
  /** The same owner holds it, and the caller asked not to re-acquire. */
  | 'HELD_BY_SELF'
  /** The lock had expired before the renewal came. */
  | 'EXPIRED'
  /** The token is not that of the present acquisition. */
  | 'STALE_TOKEN'
  /** The requestId was used before, and what it acquired has ended. */
  | 'REQUEST_SPENT'
  /** It stood in line for as long as it wished to. */
  | 'WAIT_TIMEOUT'
  /** Waiting would close a circle of owners that wait for each other. */
  | 'DEADLOCK';

/** An owner that waits for a resource which the next one of the circle has, or gets before it. */
export interface Dependency {
  readonly owner: string;
  readonly resource: string;
}

export interface Conflict {
  readonly kind: 'conflict';
  readonly resource: string;
  readonly reason: ConflictReason;
  /** The lock that is held under that name at the moment of the decision, if any. */
  readonly current: Lock | null;
  /** Of a call for several locks: all that stand in its way. Left out of others: there it is `current`. */
  readonly blockedBy?: readonly Lock[];
  /** Of a DEADLOCK: who would wait for whom, the caller first. */
  readonly circle?: readonly Dependency[];
}

/** All of them. */
export interface AcquiredAll {
  readonly kind: 'acquired-all';
  /** In the order in which they were asked for. */
  readonly locks: readonly Lock[];
}

export interface ReleasedAll {
  readonly kind: 'released-all';
  readonly released: readonly Released[];
  /** Named, but not held by this owner under that token. */
  readonly notHeld: readonly string[];
}

export interface RenewedAll {
  readonly kind: 'renewed-all';
  readonly locks: readonly Lock[];
  /** Named, but not held by this owner under that token. */
  readonly lost: readonly string[];
}

/** It stands in line: when its turn comes, an ACQUIRED event bears its waiter's id. */
export interface Queued {
  readonly kind: 'queued';
  readonly ticket: bigint;
  readonly deadline: number;
  /** The waiter whose place it took over; null: it has one of its own. */
  readonly replaced: string | null;
}

/** It stands in line no more, and got nothing. */
export interface Left {
  readonly kind: 'left';
  /** What stood in its way. */
  readonly blockedBy: readonly Lock[];
}

/** It stood in line no more: it had its turn, or another call took over its place. */
export interface NotInLine {
  readonly kind: 'not-in-line';
  /** If it had its turn, then at this revision or before. */
  readonly revision: bigint;
}

/** No passed expiry of this resource is left unrecorded. */
export interface Settled {
  readonly kind: 'settled';
  readonly resource: string;
}

export type AcquireOutcome = Acquired | Conflict;
export type AcquireAllOutcome = AcquiredAll | Conflict;
export type ReleaseOutcome = Released | NotFound | Forbidden | Conflict;
export type RenewOutcome = Renewed | NotFound | Conflict;
interface Outcomes {
  acquire: AcquireOutcome | Queued;
  'acquire-all': AcquireAllOutcome | Queued;
  release: ReleaseOutcome;
  'release-all': ReleasedAll;
  renew: RenewOutcome;
  'renew-all': RenewedAll;
  expire: Settled;
  leave: Left | NotInLine;
}

/** The outcomes that a command of that type can have. */
export type OutcomeOf<C extends Command> = Outcomes[C['kind']];

export type Outcome = OutcomeOf<Command>;
