import type { AcquireCommand, ReleaseCommand, RenewCommand } from '../../../src/locks/commands.js';
import type { LockEventType } from '../../../src/locks/events.js';
import type { ConflictReason } from '../../../src/locks/outcomes.js';

export interface ReadQuestion {
  readonly kind: 'read';
  readonly resource: string;
}

export type Question = AcquireCommand | RenewCommand | ReleaseCommand | ReadQuestion;

/** Whether the service knows it when it comes a second time. */
export function isRecognisedAgain(question: Question): boolean {
  if (question.kind === 'acquire') return question.requestId !== null;
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

/** What the caller was told. */
export type Told =
  | { readonly kind: 'acquired'; readonly lock: LockSeen; readonly reacquired: boolean }
  | { readonly kind: 'renewed'; readonly lock: LockSeen }
  | { readonly kind: 'released'; readonly fencingToken: bigint; readonly revision: bigint; readonly releasedAt: number }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'forbidden'; readonly current: LockSeen | null }
  | { readonly kind: 'conflict'; readonly reason: ConflictReason; readonly current: LockSeen | null }
  | { readonly kind: 'seen'; readonly lock: LockSeen | null }
  /** No answer came, or one that leaves it open: it may have happened or not, at any time after it was sent. */
  | { readonly kind: 'unknown' }
  /** The service said that nothing was changed, or was never reached. */
  | { readonly kind: 'not-done' };

/** A stretch of time, in milliseconds; `to` is Infinity where the end is unknown. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * One call of one client, from when it was sent until its answer came. The metadata of an acquire is its own: only a
 * repetition of it has the same. So the log tells whose acquisition each one is.
 */
export interface Call {
  readonly id: number;
  readonly client: string;
  readonly question: Question;
  readonly told: Told;
  /** By one monotonic clock: what orders calls. */
  readonly span: Span;
  /** The same by a clock that is the database's within {@link Tolerance}: what is compared to the moments told. */
  readonly wall: Span;
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
  readonly call?: Call;
  readonly change?: Change;
}

/** How messages and test failures show a violation. */
export function describe({ problem, resource, call, change }: Violation): string {
  const details = { ...(change && { change }), ...(call && { call }) };
  return `${resource}: ${problem} ${JSON.stringify(details, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}`;
}
