import type { AcquireAllCommand, AcquireCommand, Wait } from './commands.js';
import { findCircle } from './deadlock.js';
import { take } from './decide.js';
import type { Draft } from './draft.js';
import type { GroupState } from './group.js';
import { Lines } from './lines.js';
import type { Lock } from './lock.js';
import type { Conflict, Left, NotInLine, Queued } from './outcomes.js';
import { NEVER, type Waiter } from './waiter.js';

/** A call that stands in line where it can't be granted at once. */
type WaitingCommand = (AcquireCommand | AcquireAllCommand) & { readonly wait: Wait };

/** Who stands in line while a group is decided, and when it is whose turn. */
export class Turns {
  readonly #draft: Draft;
  readonly #lines: Lines;
  #ticket: bigint;

  constructor({ standing, ticket }: GroupState, draft: Draft) {
    this.#draft = draft;
    this.#lines = new Lines(standing);
    this.#ticket = ticket;
  }

  get joined(): readonly Waiter[] {
    return this.#lines.joined;
  }

  get left(): readonly Waiter[] {
    return this.#lines.left;
  }

  /** Whether the lock is free, but not for a newcomer: somebody stands in line for it. @throws NotRead */
  isReserved(resource: string): boolean {
    return this.#lines.first(resource) !== null && this.#draft.held(resource) === null;
  }

  /**
   * Gives the lock to the first in line, if all that this one waits for is there for it. What had expired of that is recorded
   * now, and is free for others where it is not for this one.
   *
   * @throws NotRead
   */
  handOn(resource: string): void {
    if (this.#lines.isEmpty) return;
    // Grows while it is walked.
    const freed = new Set([resource]);
    for (const next of freed) {
      const first = this.#lines.first(next);
      if (first === null || !this.#mayTake(first, next)) continue;
      this.#lines.expect(first.resources);
      for (const wanted of first.resources) if (this.#draft.settle(wanted)) freed.add(wanted);
      if (first.resources.every((wanted) => this.#mayTake(first, wanted))) this.#grant(first);
    }
  }

  /**
   * The place of a call that stands in line already: it is the same call, or a retry that takes over the place of the earlier
   * one, and what was judged on its arrival is not judged again. null: it does not stand in line.
   *
   * @throws NotRead
   */
  resume(command: WaitingCommand, resources: readonly string[]): Queued | null {
    const { owner, requestId, wait } = command;
    const same = this.#lines.find(({ id }) => id === wait.id);
    if (same !== null) return queued(same, null);
    const earlier = requestId === null ? null : this.#lines.find((waiter) => isCall(waiter, owner, requestId, resources));
    if (earlier === null) return null;
    this.#lines.leave(earlier);
    const waiter = { ...this.#waiter(command, resources), ticket: earlier.ticket, ownTokens: earlier.ownTokens };
    this.#lines.join(waiter);
    // It may be its turn: if the earlier call counted as dead, it was passed over.
    for (const resource of resources) this.handOn(resource);
    return queued(waiter, earlier);
  }

  /** @throws NotRead */
  standInLine(command: WaitingCommand, resources: readonly string[], refusal: Conflict): Queued | Conflict {
    const waiter = this.#waiter(command, resources);
    if (command.wait.detectDeadlock) {
      const circle = findCircle(waiter.owner, resources, this.#lines, this.#draft);
      if (circle !== null) return { ...refusal, reason: 'DEADLOCK', circle };
    }
    this.#ticket = waiter.ticket;
    this.#lines.join(waiter);
    return queued(waiter, null);
  }

  /** @throws NotRead */
  leave(waiterId: string): Left | NotInLine {
    const waiter = this.#lines.find(({ id }) => id === waiterId);
    if (waiter === null) return { kind: 'not-in-line', revision: this.#draft.revision };
    const blockedBy = waiter.resources.flatMap((resource) => {
      const held = this.#draft.held(resource);
      return held === null || isOwn(waiter, held) ? [] : [held];
    });
    this.#lines.leave(waiter);
    for (const resource of waiter.resources) this.handOn(resource);
    return { kind: 'left', blockedBy };
  }

  /** A lock that it held on its arrival and still holds is not for those in line, whoever is ahead. */
  #mayTake(waiter: Waiter, resource: string): boolean {
    const held = this.#draft.held(resource);
    return held === null ? this.#lines.first(resource)?.id === waiter.id : isOwn(waiter, held);
  }

  #grant(waiter: Waiter): void {
    this.#lines.leave(waiter);
    for (const resource of waiter.resources) {
      const { row, event } = take(this.#draft.row(resource), { ...waiter, resource }, this.#draft.moment);
      this.#draft.record(row, { ...event, waiterId: waiter.id });
    }
  }

  /** Who would stand in line behind all others. */
  #waiter({ owner, ttlMs, requestId, metadata, wait }: WaitingCommand, resources: readonly string[]): Waiter {
    const { now } = this.#draft;
    const held = resources.flatMap((resource) => this.#draft.held(resource) ?? []);
    return {
      ticket: this.#ticket + 1n,
      id: wait.id,
      instance: wait.instance,
      owner,
      resources,
      ttlMs,
      requestId,
      metadata,
      ownTokens: held.filter((lock) => lock.owner === owner).map(({ fencingToken }) => fencingToken),
      joinedAt: now,
      deadline: wait.waitMs === null ? NEVER : now + wait.waitMs,
    };
  }
}

function isOwn({ ownTokens }: Waiter, held: Lock): boolean {
  return ownTokens.includes(held.fencingToken);
}

function isCall(waiter: Waiter, owner: string, requestId: string, resources: readonly string[]): boolean {
  return (
    waiter.owner === owner &&
    waiter.requestId === requestId &&
    waiter.resources.length === resources.length &&
    waiter.resources.every((resource) => resources.includes(resource))
  );
}

function queued({ ticket, deadline }: Waiter, replaced: Waiter | null): Queued {
  return { kind: 'queued', ticket, deadline, replaced: replaced?.id ?? null };
}
