import { resourcesOfAll, type Command } from '../../src/locks/commands.js';
import { tryToDecide } from '../../src/locks/decide-group.js';
import type { LockEvent } from '../../src/locks/events.js';
import type { GroupDecision, GroupState } from '../../src/locks/group.js';
import { isHeld, type Lock } from '../../src/locks/lock.js';
import { RetryMemory } from '../../src/locks/retries.js';
import type { Line, Waiter } from '../../src/locks/waiter.js';
import { NOW } from '../support/lock-values.js';

/** How much of those in line is read before a group: everything, or the first so many in the lines that the group names. */
export type Reading = 'everything' | number;

/** What a store does around the decisions, the simplest way: what outlives a group is in lists and maps. */
export class MemoryStore {
  now = NOW;
  readonly rows = new Map<string, Lock>();
  readonly log: LockEvent[] = [];
  /** Also those whose time has passed, as long as nobody removed them. */
  waiters: Waiter[] = [];
  readonly deadInstances = new Set<string>();
  readonly #retryWindowMs: number;
  #ticket = 0n;

  constructor({ retryWindowMs = 60_000 } = {}) {
    this.#retryWindowMs = retryWindowMs;
  }

  commit(commands: readonly Command[], reading: Reading = 8): GroupDecision {
    const decision = this.decide(commands, reading);
    this.log.push(...decision.events);
    for (const [resource, row] of decision.changedRows) {
      if (row === null) this.rows.delete(resource);
      else this.rows.set(resource, row);
    }
    const left = new Set(decision.left.map(({ id }) => id));
    const stay = this.waiters.filter(({ id }) => !left.has(id));
    this.waiters = [...stay, ...decision.joined].sort((one, other) => Number(one.ticket - other.ticket));
    for (const { ticket } of decision.joined) if (ticket > this.#ticket) this.#ticket = ticket;
    return decision;
  }

  decide(commands: readonly Command[], reading: Reading): GroupDecision {
    const resources = reading === 'everything' ? this.#resources() : new Set<string>();
    const owners = reading === 'everything' ? this.#owners() : new Set<string>();
    const firstInLine = reading === 'everything' ? Infinity : reading;
    for (;;) {
      const decision = tryToDecide(this.#read(commands, resources, owners, firstInLine), commands);
      if ('outcomes' in decision) return decision;
      const known = resources.size + owners.size;
      for (const resource of decision.resources) resources.add(resource);
      for (const owner of decision.owners) owners.add(owner);
      if (resources.size + owners.size === known) throw new Error('Asks again for what it was given');
    }
  }

  /** Everywhere that somebody may have a turn now, and what has expired without a record. */
  due(): string[] {
    const expired = [...this.rows.values()].filter((row) => !row.expiryRecorded && !isHeld(row, this.now));
    const waiting = this.#live().flatMap(({ resources }) => resources);
    return [...new Set([...expired.map(({ resource }) => resource), ...waiting])].sort();
  }

  isLive({ instance, deadline }: Waiter): boolean {
    return deadline > this.now && !this.deadInstances.has(instance);
  }

  /** The named lines are read up to `firstInLine`, and what is asked for, whole. */
  #read(commands: readonly Command[], asked: Set<string>, owners: Set<string>, firstInLine: number): GroupState {
    const named = resourcesOfAll(commands);
    const read = new Set([...named, ...asked]);
    const line = (resource: string): Line => {
      const all = this.#live().filter(({ resources }) => resources.includes(resource));
      const waiters = asked.has(resource) ? all : all.slice(0, firstInLine);
      return { waiters, isWhole: waiters.length < firstInLine || asked.has(resource) };
    };
    return {
      revision: BigInt(this.log.length),
      now: this.now,
      rows: new Map([...this.rows].filter(([resource]) => read.has(resource))),
      retries: this.#retries(),
      ticket: this.#ticket,
      standing:
        this.waiters.length === 0
          ? null
          : {
              lines: new Map([...read].map((resource) => [resource, line(resource)])),
              byOwner: new Map([...owners].map((owner) => [owner, this.#live().filter((waiter) => waiter.owner === owner)])),
              named: this.waiters.filter((waiter) => commands.some((command) => isNamed(waiter, command))),
            },
    };
  }

  #live(): Waiter[] {
    return this.waiters.filter((waiter) => this.isLive(waiter));
  }

  #resources(): Set<string> {
    return new Set([...this.rows.keys(), ...this.waiters.flatMap(({ resources }) => resources)]);
  }

  #owners(): Set<string> {
    return new Set([...this.rows.values(), ...this.waiters].map(({ owner }) => owner));
  }

  #retries(): RetryMemory {
    const retries = new RetryMemory();
    for (const event of this.log) if (this.now - event.writtenAt < this.#retryWindowMs) retries.learn(event);
    return retries;
  }
}

function isNamed(waiter: Waiter, command: Command): boolean {
  if (command.kind === 'leave') return waiter.id === command.waiterId;
  if (command.kind !== 'acquire' && command.kind !== 'acquire-all') return false;
  const isSameRequest = command.requestId !== null && waiter.owner === command.owner && waiter.requestId === command.requestId;
  return command.wait !== null && (waiter.id === command.wait.id || isSameRequest);
}
