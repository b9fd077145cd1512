import { resourcesOf, type AcquireAllCommand, type AcquireCommand, type Command } from '../../src/locks/commands.js';
import type { Conflict, Outcome } from '../../src/locks/outcomes.js';
import { NEVER, type Waiter } from '../../src/locks/waiter.js';
import { LockModel } from './lock-model.js';

type Acquire = AcquireCommand | AcquireAllCommand;

/** The rules of those who stand in line a second time, the simplest way: one list of all of them, searched from end to end. */
export class LineModel {
  readonly locks = new LockModel();
  /** By ticket. */
  waiters: Waiter[] = [];
  readonly deadInstances = new Set<string>();
  #ticket = 0n;
  #lastStored = 0n;

  startGroup(now: number, resources: Iterable<string>): void {
    // The tickets of those that came and went within one group are given out again.
    for (const { ticket } of this.waiters) if (ticket > this.#lastStored) this.#lastStored = ticket;
    this.#ticket = this.#lastStored;
    this.locks.now = now;
    for (const resource of resources) {
      this.locks.settle(resource);
      this.#handOn(resource);
    }
  }

  answer(command: Command): Outcome {
    switch (command.kind) {
      case 'acquire':
      case 'acquire-all':
        return this.#acquire(command);
      case 'release':
        return this.#release(command);
      case 'release-all': {
        const outcomes = command.locks.map((lock) => this.#release({ ...lock, owner: command.owner }));
        const notHeld = command.locks.filter((_, index) => outcomes[index]?.kind !== 'released').map(({ resource }) => resource);
        return { kind: 'released-all', released: outcomes.filter((outcome) => outcome.kind === 'released'), notHeld };
      }
      case 'renew':
        return this.locks.renew(command);
      case 'renew-all': {
        const outcomes = command.locks.map((lock) => this.locks.renew({ ...lock, owner: command.owner, ttlMs: command.ttlMs }));
        const lost = command.locks.filter((_, index) => outcomes[index]?.kind !== 'renewed').map(({ resource }) => resource);
        return { kind: 'renewed-all', locks: outcomes.flatMap((one) => (one.kind === 'renewed' ? [one.lock] : [])), lost };
      }
      case 'expire':
        return { kind: 'settled', resource: command.resource };
      case 'leave':
        return this.#leave(command.waiterId);
    }
  }

  /** What the store does with those in line whose time has passed. */
  purge(): void {
    this.waiters = this.waiters.filter((waiter) => this.#isLive(waiter));
  }

  #acquire(command: Acquire): Outcome {
    const resources = resourcesOf(command);
    const place = this.#placeOf(command, resources);
    if (place !== null) return place;
    const answers = resources.map((resource) => {
      const answer = this.locks.judge({ ...command, resource });
      const isKept = answer === null && this.locks.held(resource) === undefined && this.#line(resource).length > 0;
      return isKept ? ({ kind: 'conflict', resource, reason: 'HELD_BY_ANOTHER', current: null } as const) : answer;
    });
    if (command.kind === 'acquire') {
      const [answer = null] = answers;
      if (answer === null) {
        const lock = this.locks.give(command);
        return { kind: 'acquired', lock, reacquired: lock.reacquired };
      }
      return answer.kind === 'conflict' ? this.#refuse(command, answer) : answer;
    }

    const blockedBy = answers.flatMap((answer) => (answer?.kind === 'conflict' && answer.current !== null ? [answer.current] : []));
    const known = answers.findIndex((answer) => answer?.kind === 'acquired' || answer?.reason === 'REQUEST_SPENT');
    const areAllKnown = answers.every((answer) => answer?.kind === 'acquired');
    const resource = resources[known];
    if (resource !== undefined && !areAllKnown) {
      const current = this.locks.held(resource) ?? null;
      return { kind: 'conflict', resource, reason: 'REQUEST_SPENT', current, blockedBy };
    }
    const conflicts = answers.filter((answer) => answer?.kind === 'conflict');
    const [first] = conflicts;
    if (first !== undefined) {
      const lasting = command.wait === null ? undefined : conflicts.find(({ reason }) => reason !== 'HELD_BY_ANOTHER');
      return this.#refuse(command, { ...(lasting ?? first), blockedBy });
    }
    const locks = resources.map((name, index) => {
      const answer = answers[index];
      return answer?.kind === 'acquired' ? answer.lock : this.locks.give({ ...command, resource: name });
    });
    return { kind: 'acquired-all', locks };
  }

  #placeOf(command: Acquire, resources: readonly string[]): Outcome | null {
    const { wait, requestId, owner } = command;
    if (wait === null) return null;
    const same = this.waiters.find(({ id }) => id === wait.id);
    if (same !== undefined) return { kind: 'queued', ticket: same.ticket, deadline: same.deadline, replaced: null };
    const names = [...resources].sort().join();
    const retried = this.waiters.find(
      (waiter) =>
        requestId !== null &&
        waiter.owner === owner &&
        waiter.requestId === requestId &&
        [...waiter.resources].sort().join() === names,
    );
    if (retried === undefined) return null;
    const { ticket, ownTokens, id: replaced } = retried;
    const waiter: Waiter = { ...this.#waiter(command, resources), ticket, ownTokens };
    this.waiters[this.waiters.indexOf(retried)] = waiter;
    for (const resource of resources) this.#handOn(resource);
    return { kind: 'queued', ticket, deadline: waiter.deadline, replaced };
  }

  #refuse(command: Acquire, conflict: Conflict): Outcome {
    if (command.wait === null || conflict.reason !== 'HELD_BY_ANOTHER') return conflict;
    const resources = resourcesOf(command);
    const waiter = this.#waiter(command, resources);
    if (command.wait.detectDeadlock) {
      const length = this.#lengthOfCircle(waiter);
      if (length !== null) return { ...conflict, reason: 'DEADLOCK', circle: Array<never>(length) };
    }
    this.#ticket++;
    this.waiters.push(waiter);
    return { kind: 'queued', ticket: waiter.ticket, deadline: waiter.deadline, replaced: null };
  }

  #waiter(command: Acquire, resources: readonly string[]): Waiter {
    const { owner, ttlMs, requestId, metadata } = command;
    const { id = '', instance = '', waitMs = 0 } = command.wait ?? {};
    const own = resources.flatMap((resource) => this.locks.held(resource) ?? []).filter((lock) => lock.owner === owner);
    const { now } = this.locks;
    return {
      ticket: this.#ticket + 1n,
      ...{ id, instance, owner, resources, ttlMs, requestId, metadata },
      ownTokens: own.map(({ fencingToken }) => fencingToken),
      joinedAt: now,
      deadline: waitMs === null ? NEVER : now + waitMs,
    };
  }

  #release(named: { readonly resource: string; readonly owner: string; readonly fencingToken: bigint | null }) {
    const outcome = this.locks.release(named);
    if (outcome.kind === 'released') this.#handOn(named.resource);
    return outcome;
  }

  #leave(waiterId: string): Outcome {
    const waiter = this.waiters.find(({ id }) => id === waiterId);
    if (waiter === undefined) return { kind: 'not-in-line', revision: this.locks.revision };
    const held = waiter.resources.flatMap((resource) => this.locks.held(resource) ?? []);
    this.waiters = this.waiters.filter((other) => other !== waiter);
    for (const resource of waiter.resources) this.#handOn(resource);
    return { kind: 'left', blockedBy: held.filter(({ fencingToken }) => !waiter.ownTokens.includes(fencingToken)) };
  }

  #handOn(resource: string): void {
    const freed = [resource];
    for (const next of freed) {
      const [first] = this.#line(next);
      if (first === undefined || !this.#mayTake(first, next)) continue;
      freed.push(...first.resources.filter((wanted) => this.locks.settle(wanted)));
      if (!first.resources.every((wanted) => this.#mayTake(first, wanted))) continue;
      this.waiters = this.waiters.filter((other) => other !== first);
      for (const granted of first.resources) this.locks.give({ ...first, resource: granted });
    }
  }

  #mayTake(waiter: Waiter, resource: string): boolean {
    const held = this.locks.held(resource);
    return held === undefined ? this.#line(resource)[0] === waiter : waiter.ownTokens.includes(held.fencingToken);
  }

  #line(resource: string): Waiter[] {
    return this.waiters.filter((waiter) => this.#isLive(waiter) && waiter.resources.includes(resource));
  }

  #isLive({ instance, deadline }: Waiter): boolean {
    return deadline > this.locks.now && !this.deadInstances.has(instance);
  }

  /** How many owners wait for each other, if this one waits: widens the set of whom it waits for until it is in it. */
  #lengthOfCircle(caller: Waiter): number | null {
    const live = this.waiters.filter((waiter) => this.#isLive(waiter));
    let reached = new Set(caller.resources.flatMap((resource) => this.#before(caller.owner, resource)));
    for (let length = 1; length <= live.length + 1; length++) {
      if (reached.has(caller.owner)) return length;
      const next = live
        .filter(({ owner }) => reached.has(owner))
        .flatMap(({ owner, resources }) => resources.flatMap((resource) => this.#before(owner, resource)));
      reached = new Set([...reached, ...next]);
    }
    return null;
  }

  #before(owner: string, resource: string): string[] {
    const holder = this.locks.held(resource)?.owner;
    if (holder === owner) return [];
    const line = this.#line(resource).map((waiter) => waiter.owner);
    const place = line.indexOf(owner);
    return [...(holder === undefined ? [] : [holder]), ...(place < 0 ? line : line.slice(0, place))];
  }
}
