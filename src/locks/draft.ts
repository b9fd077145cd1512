import { settle, type Decision, type Moment } from './decide.js';
import type { LockEvent } from './events.js';
import type { GroupState } from './group.js';
import { NotRead } from './lines.js';
import { heldLock, type Lock } from './lock.js';
import type { Outcome } from './outcomes.js';
import type { RetryMemory } from './retries.js';

/** What a group makes of rows and log, while it is decided. */
export class Draft {
  readonly retries: RetryMemory;
  readonly events: LockEvent[] = [];
  readonly changedRows = new Map<string, Lock | null>();
  readonly #state: GroupState;
  readonly #rows: Map<string, Lock | null>;

  constructor(state: GroupState) {
    this.#state = state;
    this.#rows = new Map(state.rows);
    this.retries = state.retries.copy();
  }

  get now(): number {
    return this.#state.now;
  }

  /** The newest revision so far. */
  get revision(): bigint {
    return this.#state.revision + BigInt(this.events.length);
  }

  get moment(): Moment {
    return { now: this.now, revision: this.revision + 1n };
  }

  /** @throws NotRead */
  row(resource: string): Lock | null {
    const row = this.#rows.get(resource);
    if (row !== undefined) return row;
    const { standing } = this.#state;
    if (standing !== null && !standing.lines.has(resource)) throw new NotRead({ resources: [resource], owners: [] });
    return null;
  }

  /** @throws NotRead */
  held(resource: string): Lock | null {
    return heldLock(this.row(resource), this.now);
  }

  /** Records a passed expiry that is not recorded yet. @returns whether there was one. @throws NotRead */
  settle(resource: string): boolean {
    const row = this.row(resource);
    const settled = row === null ? null : settle(row, this.moment);
    if (settled !== null) this.record(settled.row, settled.event);
    return settled !== null;
  }

  apply<O extends Outcome>({ outcome, row, event }: Decision<O>): O {
    if (event !== null) this.record(row, event);
    return outcome;
  }

  record(row: Lock | null, event: LockEvent): void {
    this.#rows.set(event.resource, row);
    this.changedRows.set(event.resource, row);
    this.events.push(event);
    this.retries.learn(event);
  }
}
