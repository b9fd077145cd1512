import type {
  AcquireAllCommand,
  AcquireCommand,
  Command,
  LeaveCommand,
  NamedLock,
  ReleaseAllCommand,
  RenewAllCommand,
} from './commands.js';
import { findCircle } from './deadlock.js';
import { acquire, release, renew, settle, take, type Acquisition, type Decision, type Moment } from './decide.js';
import type { LockEvent } from './events.js';
import type { GroupDecision, GroupState } from './group.js';
import { Lines, NotRead } from './lines.js';
import { heldLock, isHeld, type Lock } from './lock.js';
import type * as outcomes from './outcomes.js';
import type { RetryMemory } from './retries.js';
import { NEVER, type Waiter } from './waiter.js';

/** Decides commands one after the other, and keeps what they make of rows and lines. */
export class GroupDecider {
  readonly #now: number;
  readonly #revision: bigint;
  readonly #rows: Map<string, Lock | null>;
  readonly #retries: RetryMemory;
  readonly #lines: Lines;
  #ticket: bigint;
  readonly #changedRows = new Map<string, Lock | null>();
  readonly #events: LockEvent[] = [];

  constructor({ now, revision, rows, retries, ticket, standing }: GroupState) {
    this.#now = now;
    this.#revision = revision;
    this.#rows = new Map(rows);
    this.#retries = retries.copy();
    this.#lines = new Lines(standing);
    this.#ticket = ticket;
  }

  /** What came of everything so far. */
  get effects(): Omit<GroupDecision, 'outcomes'> {
    const { joined, left } = this.#lines;
    return { events: this.#events, changedRows: this.#changedRows, joined, left };
  }

  /** Records a passed expiry that is not recorded yet, and hands the lock on where it is free. */
  settle(resource: string): void {
    const settled = settle(this.#row(resource), this.#moment());
    if (settled !== null) this.#record(settled.row, settled.event);
    this.#handOn(resource);
  }

  decide(command: Command): outcomes.Outcome {
    switch (command.kind) {
      case 'acquire':
        return this.#acquire(command);
      case 'acquire-all':
        return this.#acquireAll(command);
      case 'release':
        return this.#release(command);
      case 'release-all':
        return this.#releaseAll(command);
      case 'renew':
        return this.#apply(renew(this.#row(command.resource), command, this.#moment()));
      case 'renew-all':
        return this.#renewAll(command);
      case 'expire':
        return { kind: 'settled', resource: command.resource };
      case 'leave':
        return this.#leave(command);
    }
  }

  #acquire(command: AcquireCommand): outcomes.OutcomeOf<AcquireCommand> {
    const outcome = this.#apply(this.#tryToAcquire(command, this.#moment()));
    if (command.wait === null || outcome.kind !== 'conflict' || outcome.reason !== 'HELD_BY_ANOTHER') return outcome;
    return this.#standInLine(command, [command.resource], outcome);
  }

  #acquireAll(command: AcquireAllCommand): outcomes.OutcomeOf<AcquireAllCommand> {
    const decisions: Decision<outcomes.AcquireOutcome>[] = [];
    let { revision } = this.#moment();
    for (const resource of command.resources) {
      const decision = this.#tryToAcquire({ ...command, resource }, { now: this.#now, revision });
      decisions.push(decision);
      if (decision.event !== null) revision += 1n;
    }
    const spent = spentFor(decisions);
    if (spent !== null) return { kind: 'conflict', reason: 'REQUEST_SPENT', resource: spent, current: this.#held(spent) };
    const refusals = decisions.flatMap(({ outcome }) => (outcome.kind === 'conflict' ? [outcome] : []));
    const [first] = refusals;
    if (first === undefined) {
      const locks = decisions.flatMap((decision) => {
        const outcome = this.#apply(decision);
        return outcome.kind === 'acquired' ? [outcome.lock] : [];
      });
      return { kind: 'acquired-all', locks };
    }
    const refusal = { ...first, blockedBy: refusals.flatMap(({ current }) => current ?? []) };
    if (command.wait === null || refusals.some(({ reason }) => reason !== 'HELD_BY_ANOTHER')) return refusal;
    return this.#standInLine(command, command.resources, refusal);
  }

  /** A lock that is free is kept for whoever stands in line for it. */
  #tryToAcquire(acquisition: Acquisition, moment: Moment): Decision<outcomes.AcquireOutcome> {
    const { resource } = acquisition;
    const row = this.#row(resource);
    const decision = acquire(row, acquisition, this.#retries, moment);
    const overtakes = decision.event !== null && !isHeldAt(row, this.#now) && this.#lines.first(resource) !== null;
    if (!overtakes) return decision;
    return { row, event: null, outcome: { kind: 'conflict', reason: 'HELD_BY_ANOTHER', resource, current: null } };
  }

  #release(command: NamedLock & { readonly owner: string }): outcomes.ReleaseOutcome {
    const outcome = this.#apply(release(this.#row(command.resource), command, this.#retries, this.#moment()));
    if (outcome.kind === 'released') this.#handOn(command.resource);
    return outcome;
  }

  #releaseAll({ owner, locks }: ReleaseAllCommand): outcomes.ReleasedAll {
    const released: outcomes.Released[] = [];
    const notHeld: string[] = [];
    for (const { resource, fencingToken } of locks) {
      const outcome = this.#release({ resource, fencingToken, owner });
      if (outcome.kind === 'released') released.push(outcome);
      else notHeld.push(resource);
    }
    return { kind: 'released-all', released, notHeld };
  }

  #renewAll({ owner, locks, ttlMs }: RenewAllCommand): outcomes.RenewedAll {
    const renewed: Lock[] = [];
    const lost: string[] = [];
    for (const { resource, fencingToken } of locks) {
      const named = { resource, fencingToken, owner, ttlMs };
      const outcome = this.#apply(renew(this.#row(resource), named, this.#moment()));
      if (outcome.kind === 'renewed') renewed.push(outcome.lock);
      else lost.push(resource);
    }
    return { kind: 'renewed-all', locks: renewed, lost };
  }

  #standInLine(
    command: AcquireCommand | AcquireAllCommand,
    resources: readonly string[],
    refusal: outcomes.Conflict,
  ): outcomes.Queued | outcomes.Conflict {
    const { owner, ttlMs, requestId, metadata, wait } = command;
    if (wait === null) return refusal;
    const asBefore = this.#lines.find(({ id }) => id === wait.id);
    if (asBefore !== null) return queued(asBefore, null);
    if (wait.detectDeadlock) {
      const situation = { lines: this.#lines, now: this.#now, rowOf: (resource: string) => this.#row(resource) };
      const circle = findCircle(owner, resources, situation);
      if (circle !== null) return { ...refusal, reason: 'DEADLOCK', circle };
    }
    const replaced = requestId === null ? null : this.#lines.find((other) => isRetriedBy(other, owner, requestId, resources));
    if (replaced !== null) this.#lines.leave(replaced);
    const waiter: Waiter = {
      ticket: replaced?.ticket ?? ++this.#ticket,
      id: wait.id,
      instance: wait.instance,
      owner,
      resources,
      ttlMs,
      requestId,
      metadata,
      ownTokens: resources.flatMap((resource) => {
        const held = this.#held(resource);
        return held?.owner === owner ? [held.fencingToken] : [];
      }),
      joinedAt: this.#now,
      deadline: wait.waitMs === null ? NEVER : this.#now + wait.waitMs,
    };
    this.#lines.join(waiter);
    return queued(waiter, replaced);
  }

  #leave({ waiterId, resources }: LeaveCommand): outcomes.Left | outcomes.NotInLine {
    const waiter = this.#lines.find(({ id }) => id === waiterId);
    if (waiter === null) return { kind: 'not-in-line', revision: this.#moment().revision - 1n };
    const blockedBy = resources.flatMap((resource) => (this.#isFor(waiter, resource) ? [] : (this.#held(resource) ?? [])));
    this.#lines.leave(waiter);
    for (const resource of resources) this.#handOn(resource);
    return { kind: 'left', blockedBy };
  }

  /** Gives the lock to the first in line, where it is free and all else that this one waits for is, too. */
  #handOn(resource: string): void {
    for (let first = this.#lines.first(resource); first !== null; first = this.#lines.first(resource)) {
      const waiter = first;
      if (!this.#isFor(waiter, resource)) return;
      // To settle the others may be somebody else's turn.
      for (const other of waiter.resources) if (other !== resource) this.#settleOther(other);
      if (!waiter.resources.every((other) => this.#isFor(waiter, other) && this.#lines.first(other)?.id === waiter.id)) return;
      this.#lines.leave(waiter);
      for (const granted of waiter.resources) {
        const { outcome, event } = take(this.#row(granted), { ...waiter, resource: granted }, this.#moment());
        this.#record(outcome.lock, { ...event, waiterId: waiter.id });
      }
    }
  }

  #settleOther(resource: string): void {
    const row = this.#row(resource);
    if (row !== null && !row.expiryRecorded && !isHeld(row, this.#now)) this.settle(resource);
  }

  /** Whether nobody holds it who stands in this waiter's way. */
  #isFor({ ownTokens }: Waiter, resource: string): boolean {
    const held = this.#held(resource);
    return held === null || ownTokens.includes(held.fencingToken);
  }

  #held(resource: string): Lock | null {
    return heldLock(this.#row(resource), this.#now);
  }

  /** @throws NotRead */
  #row(resource: string): Lock | null {
    const row = this.#rows.get(resource);
    if (row !== undefined) return row;
    if (!this.#lines.knows(resource)) throw new NotRead({ resources: [resource], owners: [] });
    return null;
  }

  #moment(): Moment {
    return { now: this.#now, revision: this.#revision + BigInt(this.#events.length) + 1n };
  }

  #apply<O extends outcomes.Outcome>({ outcome, row, event }: Decision<O>): O {
    if (event !== null) this.#record(row, event);
    return outcome;
  }

  #record(row: Lock | null, event: LockEvent): void {
    this.#rows.set(event.resource, row);
    this.#changedRows.set(event.resource, row);
    this.#events.push(event);
    this.#retries.learn(event);
  }
}

/**
 * The first name for which the request is spent; null: it is for none. It is spent for those that it has acquired before, unless it
 * has acquired all of them and holds them.
 */
function spentFor(decisions: readonly Decision<outcomes.AcquireOutcome>[]): string | null {
  const known = decisions.filter(({ outcome, event }) =>
    outcome.kind === 'acquired' ? event === null : outcome.reason === 'REQUEST_SPENT',
  );
  if (known.length === decisions.length && known.every(({ outcome }) => outcome.kind === 'acquired')) return null;
  const outcome = known[0]?.outcome;
  if (outcome === undefined) return null;
  return outcome.kind === 'acquired' ? outcome.lock.resource : outcome.resource;
}

function isRetriedBy(waiter: Waiter, owner: string, requestId: string, resources: readonly string[]): boolean {
  return (
    waiter.owner === owner &&
    waiter.requestId === requestId &&
    waiter.resources.length === resources.length &&
    waiter.resources.every((resource) => resources.includes(resource))
  );
}

function queued({ ticket, deadline }: Waiter, replaced: Waiter | null): outcomes.Queued {
  return { kind: 'queued', ticket, deadline, replaced: replaced?.id ?? null };
}

function isHeldAt(row: Lock | null, now: number): boolean {
  return row !== null && isHeld(row, now);
}
