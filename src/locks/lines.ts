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
  #joined: Waiter[] = [];

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

  /** Whether the row and the line of the resource were read. */
  knows(resource: string): boolean {
    return this.#standing === null || this.#standing.lines.has(resource);
  }

  /** Whose turn it is next. @throws NotRead */
  first(resource: string): Waiter | null {
    if (this.#standing === null && this.#joined.length === 0) return null;
    let first = this.#joined.find(({ resources }) => resources.includes(resource)) ?? null;
    const line = this.#line(resource);
    const stored = line.waiters.find((waiter) => !this.#hasLeft(waiter)) ?? null;
    if (stored === null && !line.isWhole) throw new NotRead({ resources: [resource], owners: [] });
    if (stored !== null && (first === null || stored.ticket < first.ticket)) first = stored;
    return first;
  }

  /** All that stand in line for the resource, whose turn is next first. @throws NotRead */
  all(resource: string): readonly Waiter[] {
    const line = this.#line(resource);
    if (!line.isWhole) throw new NotRead({ resources: [resource], owners: [] });
    const stored = line.waiters.filter((waiter) => !this.#hasLeft(waiter));
    return [...stored, ...this.#joined.filter(({ resources }) => resources.includes(resource))].sort(byTicket);
  }

  /** Everywhere that the owner stands in line. @throws NotRead */
  of(owner: string): readonly Waiter[] {
    const stored = this.#standing === null ? [] : this.#standing.byOwner.get(owner);
    if (stored === undefined) throw new NotRead({ resources: [], owners: [owner] });
    return [...stored.filter((waiter) => !this.#hasLeft(waiter)), ...this.#joined.filter((waiter) => waiter.owner === owner)];
  }

  /** One that the group's commands name, if it still stands in line. */
  find(isSought: (waiter: Waiter) => boolean): Waiter | null {
    const stored = this.#standing?.named.find((waiter) => isSought(waiter) && !this.#hasLeft(waiter));
    return stored ?? this.#joined.find(isSought) ?? null;
  }

  join(waiter: Waiter): void {
    this.#joined = [...this.#joined, waiter].sort(byTicket);
  }

  leave(waiter: Waiter): void {
    const joined = this.#joined.filter((other) => other.id !== waiter.id);
    if (joined.length < this.#joined.length) this.#joined = joined;
    else this.#left.set(waiter.id, waiter);
  }

  #hasLeft({ id }: Waiter): boolean {
    return this.#left.has(id);
  }

  #line(resource: string): Line {
    if (this.#standing === null) return NOBODY;
    const line = this.#standing.lines.get(resource);
    if (line === undefined) throw new NotRead({ resources: [resource], owners: [] });
    return line;
  }
}

function byTicket(a: Waiter, b: Waiter): number {
  return a.ticket < b.ticket ? -1 : 1;
}
