import type { Command } from '../../../src/locks/commands.js';
import { decideGroup } from '../../../src/locks/decide-group.js';
import type { LockEvent } from '../../../src/locks/events.js';
import { isHeld, type Lock } from '../../../src/locks/lock.js';
import type { Outcome } from '../../../src/locks/outcomes.js';
import { RetryMemory } from '../../../src/locks/retries.js';
import type { SeededRandom } from '../random.js';
import type { Change, LockSeen, Told } from './history.js';

const COMMIT_MS = 5;
const SWEEP_MS = 20;

type Submission = readonly [command: Command, resolve: (told: Told) => void];

interface Entry {
  readonly at: number;
  readonly act: () => void;
}

/** Things that happen at moments of a time that nobody waits for. */
export class Agenda {
  now = 1_000_000;
  readonly #entries: Entry[] = [];

  after(ms: number, act: () => void): void {
    this.#entries.push({ at: this.now + ms, act });
  }

  /** Lets everything happen, in its order, until nothing is left or the time has come. */
  runUntil(end: number): void {
    for (;;) {
      const [first] = this.#entries;
      if (first === undefined) return;
      const next = this.#entries.reduce((one, other) => (other.at < one.at ? other : one), first);
      if (next.at > end) return;
      this.#entries.splice(this.#entries.indexOf(next), 1);
      this.now = next.at;
      next.act();
    }
  }
}

/**
 * The service as its rules describe it, in no time: commands are decided in groups, by the time at which the group begins,
 * and seen when it is committed; reads know nothing of groups under way.
 */
export class SimulatedService {
  readonly log: Change[] = [];
  readonly #agenda: Agenda;
  readonly #random: SeededRandom;
  readonly #rows = new Map<string, Lock>();
  readonly #retries = new RetryMemory();
  #queue: Submission[] = [];
  #isCommitting = false;

  constructor(agenda: Agenda, random: SeededRandom) {
    this.#agenda = agenda;
    this.#random = random;
    this.#sweep();
  }

  submit(command: Command, resolve: (told: Told) => void): void {
    this.#queue.push([command, resolve]);
    this.#flush();
  }

  /** Judges by the time at which it is asked, and looks a little later. */
  read(resource: string, resolve: (told: Told) => void): void {
    const now = Math.floor(this.#agenda.now);
    this.#agenda.after(this.#random.between(0, 2), () => {
      const row = this.#rows.get(resource);
      resolve({ kind: 'seen', lock: row !== undefined && isHeld(row, now) && !row.expiryRecorded ? seen(row) : null });
    });
  }

  #sweep(): void {
    const now = Math.floor(this.#agenda.now);
    for (const row of this.#rows.values()) {
      if (!row.expiryRecorded && !isHeld(row, now)) this.submit({ kind: 'expire', resource: row.resource }, () => undefined);
    }
    this.#agenda.after(this.#random.between(0, SWEEP_MS), () => {
      this.#sweep();
    });
  }

  #flush(): void {
    if (this.#isCommitting || this.#queue.length === 0) return;
    this.#isCommitting = true;
    const group = this.#queue;
    this.#queue = [];
    const { outcomes, events, changedRows } = decideGroup(
      {
        revision: BigInt(this.log.length),
        now: Math.floor(this.#agenda.now),
        rows: this.#rows,
        retries: this.#retries,
      },
      group.map(([command]) => command),
    );
    this.#agenda.after(this.#random.between(0, COMMIT_MS), () => {
      this.#isCommitting = false;
      this.log.push(...events.map(toChange));
      for (const [resource, row] of changedRows) {
        if (row === null) this.#rows.delete(resource);
        else this.#rows.set(resource, row);
      }
      for (const [index, [, resolve]] of group.entries()) resolve(toTold(outcomes[index] as Outcome));
      this.#flush();
    });
  }
}

function seen({ owner, fencingToken, revision, acquiredAt, expiresAt, metadata }: Lock): LockSeen {
  return { owner, fencingToken, revision, acquiredAt, expiresAt, metadata };
}

function toChange({ type, resource, at, owner, fencingToken, revision, acquiredAt, expiresAt, metadata }: LockEvent): Change {
  const isOver = type === 'RELEASED' || type === 'EXPIRED';
  return { type, resource, at, owner, fencingToken, revision, acquiredAt: isOver ? null : acquiredAt, expiresAt, metadata };
}

function toTold(outcome: Outcome): Told {
  switch (outcome.kind) {
    case 'acquired':
      return { kind: 'acquired', lock: seen(outcome.lock), reacquired: outcome.reacquired };
    case 'renewed':
      return { kind: 'renewed', lock: seen(outcome.lock) };
    case 'released': {
      const { fencingToken, revision, releasedAt } = outcome;
      return { kind: 'released', fencingToken, revision, releasedAt };
    }
    case 'not-found':
      return { kind: 'not-found' };
    case 'forbidden':
      return { kind: 'forbidden', current: seen(outcome.current) };
    case 'conflict':
      return { kind: 'conflict', reason: outcome.reason, current: outcome.current === null ? null : seen(outcome.current) };
    case 'settled':
      return { kind: 'not-done' };
  }
}
