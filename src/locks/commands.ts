/** Takes the lock, or takes it again. Inputs are already checked: names, TTL and metadata are within their limits. */
export interface AcquireCommand {
  readonly kind: 'acquire';
  readonly resource: string;
  readonly owner: string;
  readonly ttlMs: number;
  /** Makes the acquire safe to repeat; null: a repetition is a new acquire. */
  readonly requestId: string | null;
  /** false: refuse where this owner already holds the lock. */
  readonly reacquire: boolean;
  /** JSON text, or null for none. */
  readonly metadata: string | null;
}

export interface ReleaseCommand {
  readonly kind: 'release';
  readonly resource: string;
  readonly owner: string;
  /** The second proof of ownership; null: the owner alone is enough. */
  readonly fencingToken: bigint | null;
}

export interface RenewCommand {
  readonly kind: 'renew';
  readonly resource: string;
  readonly owner: string;
  readonly fencingToken: bigint | null;
  /** From now on; null: the TTL the lock was acquired with. */
  readonly ttlMs: number | null;
}

/** Records a passed expiry, if the lock has one that is not recorded yet. What the sweeper sends. */
export interface ExpireCommand {
  readonly kind: 'expire';
  readonly resource: string;
}

export type Command = AcquireCommand | ReleaseCommand | RenewCommand | ExpireCommand;
