export type LockEventType = 'ACQUIRED' | 'RENEWED' | 'RELEASED' | 'EXPIRED';

/** One change of one lock, as it was at that revision: an after-image that stays true once older events are pruned. */
export interface LockEvent {
  readonly revision: bigint;
  readonly type: LockEventType;
  /** When it happened; of an EXPIRED: the lock's own `expiresAt`, which may lie well before it was written. */
  readonly at: number;
  /** When it was written: never falls as the revision rises. */
  readonly writtenAt: number;
  readonly resource: string;
  readonly owner: string;
  readonly fencingToken: bigint;
  readonly acquiredAt: number;
  readonly expiresAt: number;
  readonly requestId: string | null;
  readonly metadata: string | null;
  /** Of an ACQUIRED that was handed on to somebody in line: the waiter whose turn it was. */
  readonly waiterId: string | null;
}
