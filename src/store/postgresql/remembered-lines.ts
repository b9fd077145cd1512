import { LRUCache } from 'lru-cache';
import { resourcesOf, type Command } from '../../locks/commands.js';
import type { GroupDecision } from '../../locks/group.js';
import type { StandingWaiters } from '../../locks/lines.js';
import type { Line, Waiter } from '../../locks/waiter.js';
import { MAX_REMEMBERED_BYTES, rememberedBytes } from './remembered.js';

/** So many are remembered of a line, at the most. */
const MAX_FIRST = 64;

const NOBODY: Line = { waiters: [], isWhole: true };

/**
 * Who is next in the lines that this instance has met, as far as it knows: others may have come and gone since. Only those who wait for
 * one resource are remembered, and of a line those before any other.
 */
export class RememberedLines {
  /** Where nobody stands in line there is none. */
  readonly #lines = new LRUCache<string, Line>({
    maxSize: MAX_REMEMBERED_BYTES,
    sizeCalculation: ({ waiters }, resource) => waiters.reduce((sum, waiter) => sum + rememberedBytes(waiter), resource.length + 1),
  });
  #ticket = 0n;

  /** The last one that was given out. */
  get ticket(): bigint {
    return this.#ticket;
  }

  has(resource: string): boolean {
    return this.#lines.has(resource);
  }

  /** What stands in the way of these commands by then. */
  for(commands: readonly Command[], now: number): StandingWaiters {
    const notJoined = new Set(commands.flatMap((command) => (isJoin(command) ? [] : resourcesOf(command))));
    const lines = new Map<string, Line>();
    for (const resource of commands.flatMap(resourcesOf)) {
      const { waiters, isWhole } = this.#lines.get(resource) ?? NOBODY;
      // Who joins stands behind all others, whoever they are.
      lines.set(resource, {
        waiters: waiters.filter(({ deadline }) => deadline > now),
        isWhole: isWhole || !notJoined.has(resource),
      });
    }
    return { lines, byOwner: new Map(), named: [] };
  }

  clear(): void {
    this.#lines.clear();
    this.#ticket = 0n;
  }

  /** They were read under the lock. */
  read(resources: readonly string[], ticket: bigint, lines: ReadonlyMap<string, Line>): void {
    this.#ticket = ticket;
    for (const resource of resources) this.#put(resource, lines.get(resource) ?? NOBODY);
  }

  /** A group was stored behind that ticket. */
  change(ticket: bigint, { joined, left }: GroupDecision): void {
    this.#ticket = ticket;
    for (const { id, resources } of left) {
      for (const resource of resources) {
        const { waiters, isWhole } = this.#lines.get(resource) ?? NOBODY;
        this.#put(resource, { waiters: waiters.filter((waiter) => waiter.id !== id), isWhole });
      }
    }
    for (const waiter of joined) {
      if (waiter.ticket > this.#ticket) this.#ticket = waiter.ticket;
      for (const resource of waiter.resources) this.#join(resource, waiter);
    }
  }

  /** It had its turn, as another instance decided: so others than those who are known here may come at any time. */
  takeTurn(resource: string, waiterId: string): Waiter | null {
    const line = this.#lines.get(resource);
    if (line === undefined) return null;
    const place = line.waiters.findIndex(({ id }) => id === waiterId);
    this.#lines.set(resource, { waiters: place < 0 ? [] : line.waiters.slice(place + 1), isWhole: false });
    return line.waiters[place] ?? null;
  }

  #join(resource: string, waiter: Waiter): void {
    const { waiters, isWhole } = this.#lines.get(resource) ?? NOBODY;
    const next = waiters.findIndex(({ ticket }) => ticket > waiter.ticket);
    if (next >= 0) this.#put(resource, { waiters: waiters.toSpliced(next, 0, waiter), isWhole });
    else if (isWhole) this.#put(resource, { waiters: [...waiters, waiter], isWhole });
  }

  #put(resource: string, { waiters, isWhole }: Line): void {
    const end = waiters.findIndex(({ resources }, n) => resources.length > 1 || n === MAX_FIRST);
    if (end >= 0) this.#lines.set(resource, { waiters: waiters.slice(0, end), isWhole: false });
    else if (isWhole && waiters.length === 0) this.#lines.delete(resource);
    else this.#lines.set(resource, { waiters, isWhole });
  }
}

function isJoin(command: Command): boolean {
  return command.kind === 'acquire' && command.wait !== null && !command.wait.detectDeadlock;
}
