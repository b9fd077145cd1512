import type { Line, Waiter } from './waiter.js';

/** What has to be read before a group can be decided, because somebody stands in line. */
export interface Unread {
  /** Their rows, and their whole lines. */
  readonly resources: readonly string[];
  /** For these owners: where they stand in line. */
  readonly owners: readonly string[];
}

/** A decision came to something that was not read. */
export class NotRead extends Error {
  constructor(readonly unread: Unread) {
    super('Not read');
  }
}

/** What the store read of those who stand in line. */
export interface StandingWaiters {
  /** By resource; at least of all that the group's commands are about. */
  readonly lines: ReadonlyMap<string, Line>;
  /** By owner: everywhere that it stands in line. Of no owner, unless it was asked for. */
  readonly byOwner: ReadonlyMap<string, readonly Waiter[]>;
  /** Those that the group's commands name by their id, or by their owner and requestId. */
  readonly named: readonly Waiter[];
}

const NOBODY: Line = { waiters: [], isWhole: true };

/** Who stands in line, while a group is decided. */
export class Lines {
  /** null: nobody does. */
  readonly #standing: StandingWaiters | null;
  /** By id: one that waits for several resources is read once in each of their lines. */
  readonly #left = new Map<string, Waiter>();
  /** By ticket. */
  readonly #joined: Waiter[] = [];
  /** The same, by resource: there may be many of both. */
  readonly #joinedFor = new Map<string, Waiter[]>();

  constructor(standing: StandingWaiters | null) {
    this.#standing = standing;
  }

  /** Those that came in this group and are still there. */
  get joined(): readonly Waiter[] {
    return this.#joined;
  }

  /** Those that were there before the group and are no more. */
  get left(): readonly Waiter[] {
    return [...this.#left.values()];
  }

  /** Whether nobody stands in line anywhere. */
  get isEmpty(): boolean {
    return this.#standing === null && this.#joined.length === 0;
  }

  /** That the rows and lines of all these were read; so they are read at once. @throws NotRead */
  expect(resources: readonly string[]): void {
    const unread = this.#standing === null ? [] : resources.filter((resource) => !this.#standing?.lines.has(resource));
    if (unread.length > 0) throw new NotRead({ resources: unread, owners: [] });
  }

  /** Whose turn it is next. @throws NotRead */
  first(resource: string): Waiter | null {
    if (this.isEmpty) return null;
    let first = this.#joinedFor.get(resource)?.[0] ?? null;
    const line = this.#line(resource);
    const stored = line?.waiters.find((waiter) => !this.#hasLeft(waiter)) ?? null;
    if (stored === null && !line?.isWhole) throw new NotRead({ resources: [resource], owners: [] });
    if (stored !== null && (first === null || stored.ticket < first.ticket)) first = stored;
    return first;
  }

  /** All that stand in line for each of these, whose turn is next first. @throws NotRead */
  all(resources: ReadonlySet<string>): Map<string, readonly Waiter[]> {
    const unread = [...resources].filter((resource) => !this.#line(resource)?.isWhole);
    if (unread.length > 0) throw new NotRead({ resources: unread, owners: [] });
    return new Map([...resources].map((resource) => [resource, this.#all(resource)]));
  }

  /** Wherever one of these owners stands in line. @throws NotRead */
  of(owners: ReadonlyMap<string, unknown>): readonly Waiter[] {
    const byOwner = this.#standing?.byOwner;
    const unread = byOwner === undefined ? [] : [...owners.keys()].filter((owner) => !byOwner.has(owner));
    if (unread.length > 0) throw new NotRead({ resources: [], owners: unread });
    const stored = [...owners.keys()].flatMap((owner) => byOwner?.get(owner) ?? []);
    return [...stored.filter((waiter) => !this.#hasLeft(waiter)), ...this.#joined.filter(({ owner }) => owners.has(owner))];
  }

  /** One that the group's commands name, if it still stands in line. */
  find(isSought: (waiter: Waiter) => boolean): Waiter | null {
    const stored = this.#standing?.named.find((waiter) => isSought(waiter) && !this.#hasLeft(waiter));
    return stored ?? this.#joined.find(isSought) ?? null;
  }

  join(waiter: Waiter): void {
    insert(this.#joined, waiter);
    for (const resource of waiter.resources) {
      const line = this.#joinedFor.get(resource) ?? [];
      insert(line, waiter);
      this.#joinedFor.set(resource, line);
    }
  }

  leave(waiter: Waiter): void {
    if (!remove(this.#joined, waiter)) this.#left.set(waiter.id, waiter);
    for (const resource of waiter.resources) remove(this.#joinedFor.get(resource) ?? [], waiter);
  }

  #hasLeft({ id }: Waiter): boolean {
    return this.#left.has(id);
  }

  #all(resource: string): readonly Waiter[] {
    const stored = this.#line(resource)?.waiters.filter((waiter) => !this.#hasLeft(waiter)) ?? [];
    const joined = this.#joinedFor.get(resource) ?? [];
    return [...stored, ...joined].sort((one, other) => (one.ticket < other.ticket ? -1 : 1));
  }

  /** null: it was not read. */
  #line(resource: string): Line | null {
    return this.#standing === null ? NOBODY : (this.#standing.lines.get(resource) ?? null);
  }
}

function insert(line: Waiter[], waiter: Waiter): void {
  // Mostly the last: only a retry takes over the place of an earlier call.
  line.splice(line.findLastIndex(({ ticket }) => ticket < waiter.ticket) + 1, 0, waiter);
}

/** Returns whether it was there. */
function remove(line: Waiter[], waiter: Waiter): boolean {
  const place = line.findIndex(({ id }) => id === waiter.id);
  if (place >= 0) line.splice(place, 1);
  return place >= 0;
}
