import { LRUCache } from 'lru-cache';
import { resourcesOf, type Command } from '../../locks/commands.js';
import type { StandingWaiters } from '../../locks/lines.js';
import { lockOf, type Lock } from '../../locks/lock.js';
import type { LogPage } from '../lock-store.js';
import { RememberedLines } from './remembered-lines.js';
import { MAX_REMEMBERED_BYTES, rememberedBytes } from './remembered.js';

/**
 * The database's clock is known from a question that was answered within this: what is made of it is behind by no more. It is
 * asked again after so long, in which the two clocks may drift apart by so much of that time.
 */
const MAX_ROUND_TRIP_MS = 20;
const MAX_CLOCK_AGE_MS = 10_000;
const MAX_DRIFT = 1e-4;

/** Groups in a row that are not decided from memory, at the most: after each one that was wrong, twice as many. */
const MAX_DISTRUST = 64;

/** What a group can be decided on without asking the database. */
export interface RememberedState {
  readonly logId: string;
  readonly revision: bigint;
  /** The database's clock shows this by now, or a little more. */
  readonly clock: number;
  /** When it is decided: not before the time that the log had come to. */
  readonly now: number;
  readonly rows: ReadonlyMap<string, Lock>;
  /** The last one that was given out; 0: nobody has been seen in line. */
  readonly ticket: bigint;
  /** null: nobody stands in line for any of it. */
  readonly standing: StandingWaiters | null;
}

/** How the database was seen, under the lock. */
export interface Sighting {
  readonly logId: string;
  /** The newest revision, and when it was written. */
  readonly revision: bigint;
  readonly at: number;
}

/** What the database's clock showed, in epoch milliseconds, at some time between the question and the answer. */
export interface ClockReading {
  readonly readAt: number;
  readonly askedAt: number;
  readonly answeredAt: number;
}

/**
 * What this instance remembers of its last groups. It may be outdated at any moment, other instances being at work, so the
 * database has to compare it with what is true; as long as callers come back to the instance that served them, it is true.
 */
export class InstanceMemory {
  readonly lines = new RememberedLines();
  readonly #locks = new LRUCache<string, Lock>({
    maxSize: MAX_REMEMBERED_BYTES,
    sizeCalculation: (lock) => lock.resource.length + rememberedBytes(lock),
  });
  #seen: Sighting | null = null;
  /** The database's clock is ahead of the process's by this or more. */
  #clockOffset = 0;
  #comparedAt = -Infinity;
  #distrust = 0;
  #distrusted = 0;

  /**
   * Null: too little is known, or what was remembered was wrong lately. A name that was never met is assumed to be free.
   *
   * @param timeAt what time it is where the database's clock shows that
   */
  for(commands: readonly Command[], timeAt: (clock: number) => number): RememberedState | null {
    if (this.#distrusted > 0) {
      this.#distrusted--;
      return null;
    }
    const elapsed = performance.now();
    if (this.#seen === null || elapsed - this.#comparedAt > MAX_CLOCK_AGE_MS) return null;
    const rows = new Map<string, Lock>();
    let isWaitedFor = false;
    for (const command of commands) {
      for (const resource of resourcesOf(command)) {
        if (this.lines.has(resource)) {
          // It depends on all of their lines, and mostly has to stand in them.
          if (command.kind === 'acquire-all') return null;
          isWaitedFor = true;
        }
        const lock = this.#locks.get(resource);
        if (lock !== undefined) rows.set(resource, lock);
        else if (command.kind !== 'acquire' && command.kind !== 'acquire-all') return null;
      }
    }
    const clock = Math.floor(elapsed + this.#clockOffset);
    const { logId, revision, at } = this.#seen;
    const now = Math.max(timeAt(clock), at);
    const standing = isWaitedFor ? this.lines.for(commands, now) : null;
    return { logId, revision, clock, now, rows, ticket: this.lines.ticket, standing };
  }

  /** They were right, or all of it was read: what the database holds now, as far as it is known. Null: no row. */
  learn({ logId, revision, at }: Sighting, rows: ReadonlyMap<string, Lock | null>): void {
    // Of another history nothing is known.
    if (logId !== this.#seen?.logId || revision < this.#seen.revision) {
      this.#locks.clear();
      this.lines.clear();
    }
    this.#seen = { logId, revision, at };
    for (const [resource, lock] of rows) {
      if (lock === null) this.#locks.delete(resource);
      else this.#locks.set(resource, lock);
    }
  }

  /**
   * The log tells, from behind that revision on, whose turn it was, as other instances decided. All else that they did is found out
   * when it matters.
   */
  follow(after: bigint, { logId, events }: LogPage): void {
    const last = events.at(-1);
    const seen = this.#seen;
    if (last === undefined || logId !== seen?.logId || last.revision <= seen.revision) return;
    // What lies between is told by another page.
    if (after > seen.revision) return;
    for (const event of events) {
      if (event.waiterId === null || event.revision <= seen.revision) continue;
      const waiter = this.lines.takeTurn(event.resource, event.waiterId);
      if (waiter !== null) this.#locks.set(event.resource, lockOf(event, waiter.ttlMs));
    }
    this.#seen = { logId, revision: last.revision, at: last.writtenAt };
  }

  compareClock({ readAt, askedAt, answeredAt }: ClockReading): void {
    if (answeredAt - askedAt > MAX_ROUND_TRIP_MS) return;
    // Where it was never compared, or not with this clock, this is -Infinity.
    const faded = this.#clockOffset - MAX_DRIFT * (answeredAt - this.#comparedAt);
    this.#clockOffset = Math.max(readAt - answeredAt, faded);
    this.#comparedAt = answeredAt;
  }

  trust(): void {
    this.#distrust = 0;
  }

  /**
   * They were wrong, or may have been.
   *
   * @param clock what the database's clock showed, where it answered
   */
  distrust(clock: { readonly expected: number; readonly readAt: number } | null): void {
    // It was set back, or runs slowly.
    if (clock !== null && clock.readAt < clock.expected) this.#comparedAt = -Infinity;
    this.#distrust = Math.min(MAX_DISTRUST, 2 * this.#distrust + 1);
    this.#distrusted = this.#distrust;
  }
}
