import type { CallerPresence } from '../engine/caller-presence.js';
import type { Caller } from '../graphql/context.js';
import { notBegun } from './errors.js';
import type { ServerLimits } from './limits.js';

/**
 * From an operation that is one too many to its refusal, on average: those who try again at once, though they are told not to,
 * would keep the server so busy with refusing them that it answered nobody else. For every thousand who wait for theirs it is so
 * much longer again: no more than about two thousand are told a second. Each keeps what it sent meanwhile, so those who are beyond
 * a bound are told at once.
 */
const REFUSAL_MS = 500;
const MANY_REFUSALS = 1_000;
const MAX_REFUSALS = 10_000;

/** Counts those that were let in by the messages of one packet, which are all taken before the first of them begins. */
export class LetIn {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(): void {
    if (this.#count === 0) queueMicrotask(() => (this.#count = 0));
    this.#count += 1;
  }
}

/**
 * Counts the queries and mutations under way, so that what is too much is refused at once: a queue without a bound would make
 * everybody late. Those that stand in line for a lock make nobody late, and are counted apart.
 */
export class Load {
  readonly #limits: ServerLimits;
  #underWay = 0;
  #inLine = 0;
  readonly #letIn = new LetIn();
  /** Those who wait for their refusal: each is told by a call. */
  readonly #refusals = new Set<() => void>();
  #isDraining = false;
  #onIdle: (() => void) | null = null;

  constructor(limits: ServerLimits) {
    this.#limits = limits;
  }

  /** Whether one more may begin: then it begins by the end of this turn of the event loop, or never. */
  letIn(): boolean {
    if (this.#underWay - this.#inLine + this.#letIn.count >= this.#limits.operations) return false;
    this.#letIn.add();
    return true;
  }

  /** Resolves when somebody who was not let in may be told so: not everybody at the same moment. */
  async beforeRefusal(): Promise<void> {
    if (this.#isDraining || this.#refusals.size >= MAX_REFUSALS) return;
    const times = 1 + this.#refusals.size / MANY_REFUSALS;
    await new Promise<void>((resolve) => {
      const refuse = () => {
        clearTimeout(timer);
        this.#refusals.delete(refuse);
        resolve();
      };
      const timer = setTimeout(refuse, REFUSAL_MS * times * (0.5 + Math.random()));
      this.#refusals.add(refuse);
    });
  }

  begin(): void {
    this.#underWay += 1;
  }

  /** @throws UNAVAILABLE where as many stand in line as may. */
  checkLine(): void {
    const { waitingCalls } = this.#limits;
    if (this.#inLine < waitingCalls) return;
    throw notBegun(`At most ${waitingCalls} calls may stand in line at the server, and as many do: try another instance`);
  }

  standInLine(): void {
    this.#inLine += 1;
  }

  end(wasInLine: boolean): void {
    this.#underWay -= 1;
    if (wasInLine) this.#inLine -= 1;
    if (this.#underWay === 0) this.#onIdle?.();
  }

  /** Resolves when nothing is under way, or when the time is up. Whoever waits for a refusal is told now. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    for (const refuse of this.#refusals) refuse();
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Who waits for an operation that counts as load until it stands in line. */
export class LoadingCaller implements Caller {
  readonly position;
  readonly turns;
  readonly #caller: Caller;
  readonly #load: Load;
  #isInLine = false;

  constructor(caller: Caller, load: Load) {
    this.position = caller.position;
    this.turns = caller.turns;
    this.#caller = caller;
    this.#load = load;
  }

  get isInLine(): boolean {
    return this.#isInLine;
  }

  /** @throws UNAVAILABLE where as many stand in line as may. */
  gone(): CallerPresence {
    if (!this.#isInLine) this.#load.checkLine();
    const presence = this.#caller.gone();
    return {
      get aborted() {
        return presence.aborted;
      },
      // From then on it waits for its turn, which is what it asks its caller's presence for.
      addEventListener: (type, listener) => {
        this.#standInLine();
        presence.addEventListener(type, listener);
      },
      removeEventListener: (type, listener) => presence.removeEventListener(type, listener),
    };
  }

  hasCompleted(): boolean {
    return this.#caller.hasCompleted();
  }

  #standInLine(): void {
    if (this.#isInLine) return;
    this.#isInLine = true;
    this.#load.standInLine();
  }
}
