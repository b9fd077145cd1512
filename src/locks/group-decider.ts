import type { AcquireAllCommand, AcquireCommand, Command, ReleaseAllCommand, RenewAllCommand } from './commands.js';
import { acquire, conflict, release, renew, type Acquisition, type Decision, type Release } from './decide.js';
import { Draft } from './draft.js';
import type { GroupDecision, GroupState } from './group.js';
import type { Lock } from './lock.js';
import type {
  AcquireAllOutcome,
  AcquireOutcome,
  Conflict,
  Outcome,
  Queued,
  Released,
  ReleasedAll,
  ReleaseOutcome,
  RenewedAll,
} from './outcomes.js';
import { Turns } from './turns.js';

/** Decides commands one after the other, each seeing what those before it did. */
export class GroupDecider {
  readonly #draft: Draft;
  readonly #turns: Turns;

  constructor(state: GroupState) {
    this.#draft = new Draft(state);
    this.#turns = new Turns(state, this.#draft);
  }

  /** What came of everything so far. */
  get effects(): Omit<GroupDecision, 'outcomes'> {
    const { events, changedRows } = this.#draft;
    const { joined, left } = this.#turns;
    return { events, changedRows, joined, left };
  }

  /** Records a passed expiry that is not recorded yet, and hands the lock on where it is free. */
  settle(resource: string): void {
    this.#draft.settle(resource);
    this.#turns.handOn(resource);
  }

  decide(command: Command): Outcome {
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
        return this.#draft.apply(renew(this.#draft.row(command.resource), command, this.#draft.moment));
      case 'renew-all':
        return this.#renewAll(command);
      case 'expire':
        return { kind: 'settled', resource: command.resource };
      case 'leave':
        return this.#turns.leave(command.waiterId);
    }
  }

  #acquire(command: AcquireCommand): AcquireOutcome | Queued {
    const place = mayWait(command) ? this.#turns.resume(command, [command.resource]) : null;
    if (place !== null) return place;
    const outcome = this.#draft.apply(this.#tryToAcquire(command, this.#draft.revision + 1n));
    if (!mayWait(command) || outcome.kind !== 'conflict' || willLast(outcome)) return outcome;
    return this.#turns.standInLine(command, [command.resource], outcome);
  }

  #acquireAll(command: AcquireAllCommand): AcquireAllOutcome | Queued {
    const { resources } = command;
    const place = mayWait(command) ? this.#turns.resume(command, resources) : null;
    if (place !== null) return place;
    const decisions = this.#tryToAcquireAll(command);
    const refusals = decisions.flatMap(({ outcome }) => (outcome.kind === 'conflict' ? [outcome] : []));
    const blockedBy = refusals.flatMap(({ current }) => current ?? []);
    const spent = spentFor(decisions);
    if (spent !== null) return { ...conflict(spent, 'REQUEST_SPENT', this.#draft.held(spent)), blockedBy };
    const [first] = refusals;
    if (first === undefined) return { kind: 'acquired-all', locks: decisions.flatMap((decision) => this.#grant(decision)) };
    if (!mayWait(command)) return { ...first, blockedBy };
    const lasting = refusals.find(willLast);
    if (lasting !== undefined) return { ...lasting, blockedBy };
    return this.#turns.standInLine(command, resources, { ...first, blockedBy });
  }

  /** What each of them would be answered, if all were granted. Applies nothing. */
  #tryToAcquireAll({ resources, owner, ttlMs, requestId, reacquire, metadata }: AcquireAllCommand): Decision<AcquireOutcome>[] {
    let { revision } = this.#draft;
    return resources.map((resource) => {
      const decision = this.#tryToAcquire({ resource, owner, ttlMs, requestId, reacquire, metadata }, revision + 1n);
      if (decision.event !== null) revision += 1n;
      return decision;
    });
  }

  #tryToAcquire(acquisition: Acquisition, revision: bigint): Decision<AcquireOutcome> {
    const { resource } = acquisition;
    const row = this.#draft.row(resource);
    const decision = acquire(row, acquisition, this.#draft.retries, { now: this.#draft.now, revision });
    if (decision.event === null || !this.#turns.isReserved(resource)) return decision;
    return { row, event: null, outcome: conflict(resource, 'HELD_BY_ANOTHER', null) };
  }

  #grant(decision: Decision<AcquireOutcome>): Lock[] {
    const outcome = this.#draft.apply(decision);
    return outcome.kind === 'acquired' ? [outcome.lock] : [];
  }

  #release(command: Release): ReleaseOutcome {
    const { retries, moment } = this.#draft;
    const outcome = this.#draft.apply(release(this.#draft.row(command.resource), command, retries, moment));
    if (outcome.kind === 'released') this.#turns.handOn(command.resource);
    return outcome;
  }

  #releaseAll({ owner, locks }: ReleaseAllCommand): ReleasedAll {
    const released: Released[] = [];
    const notHeld: string[] = [];
    for (const { resource, fencingToken } of locks) {
      const outcome = this.#release({ resource, owner, fencingToken });
      if (outcome.kind === 'released') released.push(outcome);
      else notHeld.push(resource);
    }
    return { kind: 'released-all', released, notHeld };
  }

  #renewAll({ owner, locks, ttlMs }: RenewAllCommand): RenewedAll {
    const renewed: Lock[] = [];
    const lost: string[] = [];
    for (const { resource, fencingToken } of locks) {
      const row = this.#draft.row(resource);
      const outcome = this.#draft.apply(renew(row, { resource, owner, fencingToken, ttlMs }, this.#draft.moment));
      if (outcome.kind === 'renewed') renewed.push(outcome.lock);
      else lost.push(resource);
    }
    return { kind: 'renewed-all', locks: renewed, lost };
  }
}

function mayWait<C extends AcquireCommand | AcquireAllCommand>(command: C): command is C & { readonly wait: object } {
  return command.wait !== null;
}

/** Whether waiting would not help. */
function willLast({ reason }: Conflict): boolean {
  return reason !== 'HELD_BY_ANOTHER';
}

/**
 * The first name for which the request is spent; null: it is for none. It is spent for those that it has acquired before, unless it
 * has acquired all of them and holds them.
 */
function spentFor(decisions: readonly Decision<AcquireOutcome>[]): string | null {
  const known = decisions
    .filter(({ outcome, event }) => (outcome.kind === 'acquired' ? event === null : outcome.reason === 'REQUEST_SPENT'))
    .map(({ outcome }) => outcome);
  if (known.length === decisions.length && known.every(({ kind }) => kind === 'acquired')) return null;
  const [first] = known;
  if (first === undefined) return null;
  return first.kind === 'acquired' ? first.lock.resource : first.resource;
}
