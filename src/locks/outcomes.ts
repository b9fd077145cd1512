import type { Lock } from './lock.js';
import type { AcquireCommand, ExpireCommand, ReleaseCommand, RenewCommand } from './commands.js';

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
  | 'REQUEST_SPENT';

export interface Conflict {
  readonly kind: 'conflict';
  readonly resource: string;
  readonly reason: ConflictReason;
  /** The lock that is held under that name at the moment of the decision, if any. */
  readonly current: Lock | null;
}

/** No passed expiry of this resource is left unrecorded. */
export interface Settled {
  readonly kind: 'settled';
  readonly resource: string;
}

export type AcquireOutcome = Acquired | Conflict;
export type ReleaseOutcome = Released | NotFound | Forbidden | Conflict;
export type RenewOutcome = Renewed | NotFound | Conflict;
export type Outcome = AcquireOutcome | ReleaseOutcome | RenewOutcome | Settled;

/** The outcomes that a command of that type can have. */
export type OutcomeOf<C> = C extends AcquireCommand
  ? AcquireOutcome
  : C extends ReleaseCommand
    ? ReleaseOutcome
    : C extends RenewCommand
      ? RenewOutcome
      : C extends ExpireCommand
        ? Settled
        : never;
