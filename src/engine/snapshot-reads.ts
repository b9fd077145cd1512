import { LRUCache } from 'lru-cache';
import type { Lock } from '../locks/lock.js';
import type { LockSelector, LockStore, LogHead } from '../store/lock-store.js';
import type { Snapshot, SnapshotReason } from './watch.js';

/** Of one part, at the most. */
const PART_LOCKS = 500;
/** Names and metadata in one part: it ends with the lock that reaches this. */
const PART_CHARACTERS = 262_144;
/** Parts that are kept for those who ask for the same at about the same time. */
const KEPT_PARTS = 8;
const KEPT_MS = 1000;

/** Which snapshot, and of what. */
export interface SnapshotOf extends Pick<LogHead, 'logId' | 'revision'> {
  readonly selector: LockSelector;
  readonly reason: SnapshotReason;
}

/** Where a part begins. */
export interface PartPlace {
  readonly part: number;
  /** The last name of the part before; null: there is none. */
  readonly after: string | null;
  /** How many locks to read: where they are large, most of more would be thrown away. */
  readonly limit: number;
}

export interface SnapshotPart {
  readonly snapshot: Snapshot;
  /** null: it is the last. */
  readonly next: PartPlace | null;
}

export const FIRST_PART: PartPlace = { part: 1, after: null, limit: PART_LOCKS };

/**
 * The parts of snapshots. Watchers that begin at the same revision with the same share them: what was read after that
 * revision was the newest is as good for one as for the other.
 */
export class SnapshotReads {
  readonly #store: LockStore;
  readonly #parts = new LRUCache<string, Promise<SnapshotPart>>({ max: KEPT_PARTS, ttl: KEPT_MS, ttlAutopurge: true });

  constructor(store: LockStore) {
    this.#store = store;
  }

  read(of: SnapshotOf, place: PartPlace): Promise<SnapshotPart> {
    const { logId, revision, reason, selector } = of;
    const { resource, prefix, owner } = selector;
    const key = JSON.stringify([logId, String(revision), reason, resource, prefix, owner, place.after, place.limit]);
    const known = this.#parts.get(key);
    if (known !== undefined) return known;
    const part = this.#read(of, place);
    this.#parts.set(key, part);
    part.catch(() => {
      if (this.#parts.peek(key) === part) this.#parts.delete(key);
    });
    return part;
  }

  async #read({ selector, ...about }: SnapshotOf, { part, after, limit }: PartPlace): Promise<SnapshotPart> {
    const read = await this.#store.readLocks(selector, after, limit, await this.#store.now());
    const locks = read.slice(0, lengthOfPart(read));
    const isCut = locks.length < read.length;
    const complete = !isCut && read.length < limit;
    const next = {
      part: part + 1,
      after: locks.at(-1)?.resource ?? after,
      limit: isCut ? locks.length : Math.min(2 * limit, PART_LOCKS),
    };
    return { snapshot: { ...about, kind: 'snapshot', part, complete, locks }, next: complete ? null : next };
  }
}

function lengthOfPart(locks: readonly Lock[]): number {
  let characters = 0;
  const last = locks.findIndex(({ resource, owner, metadata }) => {
    characters += resource.length + owner.length + (metadata?.length ?? 0);
    return characters >= PART_CHARACTERS;
  });
  return last === -1 ? locks.length : last + 1;
}

/** The parts of one snapshot, one after the other. It keeps none of them. */
export class SnapshotParts {
  readonly #reads: SnapshotReads;
  readonly #of: SnapshotOf;
  #next: PartPlace | null = null;

  constructor(reads: SnapshotReads, of: SnapshotOf) {
    this.#reads = reads;
    this.#of = of;
  }

  /** Where the part behind the one that was read goes on; null: that was the last. */
  get next(): PartPlace | null {
    return this.#next;
  }

  async read(place: PartPlace): Promise<Snapshot> {
    const { snapshot, next } = await this.#reads.read(this.#of, place);
    this.#next = next;
    return snapshot;
  }
}
