import type { LockEvent } from './events.js';

/** An acquire that named a requestId, as the log remembers it. */
export interface RememberedAcquisition {
  readonly resource: string;
  readonly owner: string;
  readonly requestId: string;
}

/** A release, as the log remembers it. */
export interface RememberedRelease {
  readonly resource: string;
  readonly owner: string;
  readonly fencingToken: bigint;
  readonly releasedAt: number;
  readonly revision: bigint;
}

/**
 * What is known of earlier requests that may be retried now: the events of the retry window that a group's commands can refer
 * to, and while it is decided, its own.
 */
export class RetryMemory {
  readonly #acquisitions = new Set<string>();
  readonly #releases = new Map<bigint, RememberedRelease>();

  /** One that learns without this one. */
  copy(): RetryMemory {
    const copy = new RetryMemory();
    for (const acquisition of this.#acquisitions) copy.#acquisitions.add(acquisition);
    for (const [token, release] of this.#releases) copy.#releases.set(token, release);
    return copy;
  }

  /** Whether this requestId acquired this resource for this owner, whatever became of that acquisition. */
  hasAcquired({ resource, owner, requestId }: RememberedAcquisition): boolean {
    return this.#acquisitions.has(JSON.stringify([resource, owner, requestId]));
  }

  /** The release of that token, if it was of this resource and owner. */
  releaseOf(resource: string, owner: string, fencingToken: bigint): RememberedRelease | null {
    const release = this.#releases.get(fencingToken);
    return release?.resource === resource && release.owner === owner ? release : null;
  }

  learn(event: LockEvent): void {
    const { resource, owner, requestId, fencingToken, revision } = event;
    if (event.type === 'ACQUIRED' && requestId !== null) {
      this.#acquisitions.add(JSON.stringify([resource, owner, requestId]));
    } else if (event.type === 'RELEASED') {
      this.#releases.set(fencingToken, { resource, owner, fencingToken, releasedAt: event.at, revision });
    }
  }
}
