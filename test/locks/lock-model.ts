import type { AcquireCommand, ReleaseCommand, RenewCommand } from '../../src/locks/commands.js';
import type { Lock } from '../../src/locks/lock.js';
import type { AcquireOutcome, ReleaseOutcome, RenewOutcome } from '../../src/locks/outcomes.js';

export const RETRY_WINDOW_MS = 100;

type Entry = { -readonly [K in keyof Lock]: Lock[K] };

interface PastAcquisition {
  readonly resource: string;
  readonly owner: string;
  readonly requestId: string | null;
  readonly token: bigint;
  readonly at: number;
}

export type Asked = Omit<AcquireCommand, 'kind' | 'wait' | 'reacquire'>;

interface PastRelease extends Omit<PastAcquisition, 'requestId'> {
  readonly revision: bigint;
}

/**
 * The rules of the lock a second time, the simplest way: a dictionary that is changed in place, and lists of all that
 * ever happened that are searched from end to end. It shares no code with what it is compared to.
 */
export class LockModel {
  readonly entries: Record<string, Entry | undefined> = {};
  readonly acquisitions: PastAcquisition[] = [];
  readonly #releases: PastRelease[] = [];
  revision = 0n;
  now = 0;

  /** @returns whether there was an expiry to record. */
  settle(resource: string): boolean {
    const entry = this.entries[resource];
    if (entry === undefined || this.now < entry.expiresAt || entry.expiryRecorded) return false;
    entry.revision = ++this.revision;
    entry.expiryRecorded = true;
    return true;
  }

  /** What the store does with expired rows after a while. */
  purge(): void {
    for (const [resource, entry] of Object.entries(this.entries)) {
      if (entry?.expiryRecorded === true) this.entries[resource] = undefined;
    }
  }

  /** What an acquire is answered where it changes nothing; null: it may have the lock, as far as its holder goes. */
  judge({ resource, owner, requestId, reacquire }: Asked & { readonly reacquire: boolean }): AcquireOutcome | null {
    const held = this.held(resource);
    const current = held ?? null;
    if (requestId !== null) {
      if (held?.owner === owner && held.requestId === requestId)
        return { kind: 'acquired', lock: held, reacquired: held.reacquired };
      const known = this.acquisitions.some(
        (past) => past.resource === resource && past.owner === owner && past.requestId === requestId && this.#isRecent(past.at),
      );
      if (known) return { kind: 'conflict', resource, reason: 'REQUEST_SPENT', current };
    }
    const isOwn = held?.owner === owner;
    if (held !== undefined && !isOwn) return { kind: 'conflict', resource, reason: 'HELD_BY_ANOTHER', current };
    if (isOwn && !reacquire) return { kind: 'conflict', resource, reason: 'HELD_BY_SELF', current };
    return null;
  }

  give({ resource, owner, requestId, ttlMs, metadata }: Asked): Lock {
    const token = ++this.revision;
    const entry: Entry = {
      resource,
      owner,
      fencingToken: token,
      revision: token,
      acquiredAt: this.now,
      expiresAt: this.now + ttlMs,
      ttlMs,
      requestId,
      reacquired: this.held(resource) !== undefined,
      metadata,
      expiryRecorded: false,
    };
    this.entries[resource] = entry;
    this.acquisitions.push({ resource, owner, requestId, token, at: this.now });
    return { ...entry };
  }

  release({ resource, owner, fencingToken }: Omit<ReleaseCommand, 'kind'>): ReleaseOutcome {
    const earlier = this.#releases.find(
      (past) => past.token === fencingToken && past.resource === resource && past.owner === owner && this.#isRecent(past.at),
    );
    if (earlier !== undefined) {
      return { kind: 'released', resource, fencingToken: earlier.token, releasedAt: earlier.at, revision: earlier.revision };
    }
    const held = this.held(resource);
    if (held === undefined) return { kind: 'not-found', resource };
    if (held.owner !== owner) return { kind: 'forbidden', resource, current: held };
    if (fencingToken !== null && fencingToken !== held.fencingToken) {
      return { kind: 'conflict', resource, reason: 'STALE_TOKEN', current: held };
    }
    const release = { resource, owner, token: held.fencingToken, at: this.now, revision: ++this.revision };
    this.entries[resource] = undefined;
    this.#releases.push(release);
    return { kind: 'released', resource, fencingToken: release.token, releasedAt: release.at, revision: release.revision };
  }

  renew({ resource, owner, fencingToken, ttlMs }: Omit<RenewCommand, 'kind'>): RenewOutcome {
    const entry = this.entries[resource];
    if (entry === undefined) return { kind: 'not-found', resource };
    if (this.now >= entry.expiresAt) return { kind: 'conflict', resource, reason: 'EXPIRED', current: null };
    if (entry.owner !== owner) return { kind: 'conflict', resource, reason: 'HELD_BY_ANOTHER', current: { ...entry } };
    if (fencingToken !== null && fencingToken !== entry.fencingToken) {
      return { kind: 'conflict', resource, reason: 'STALE_TOKEN', current: { ...entry } };
    }
    const promised = this.now + (ttlMs ?? entry.ttlMs);
    if (promised > entry.expiresAt) entry.expiresAt = promised;
    entry.revision = ++this.revision;
    return { kind: 'renewed', lock: { ...entry } };
  }

  held(resource: string): Lock | undefined {
    const entry = this.entries[resource];
    return entry !== undefined && this.now < entry.expiresAt ? { ...entry } : undefined;
  }

  #isRecent(at: number): boolean {
    return this.now - at < RETRY_WINDOW_MS;
  }
}
