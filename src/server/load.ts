import type { CallerPresence } from '../engine/caller-presence.js';
import type { Caller } from '../graphql/context.js';
import { notBegun } from './errors.js';
import type { Limits } from './limits.js';

/**
 * From an operation that is one too many to its refusal, on average: those who try again at once, though they are told not to,
 * would keep the server so busy with refusing them that it answered nobody else. For every thousand who wait for theirs it is so
 * much longer again, up to a bound: so no more than about two thousand are told a second.
 */
const REFUSAL_MS = 500;
const MANY_REFUSALS = 1_000;
const LONGEST = 10;

/**
 * Counts the queries and mutations under way, so that what is too much is refused at once: a queue without a bound would make
 * everybody late. Those that stand in line for a lock make nobody late, and are counted apart.
 */
export class Load {
  readonly #limits: Limits;
  #underWay = 0;
  #inLine = 0;
  /** Those that were let in by the messages of one packet, which are all taken before the first of them begins. */
  #letIn = 0;
  #refusals = 0;
  #onIdle: (() => void) | null = null;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Whether one more may begin: then it begins by the end of this turn of the event loop, or never. */
  letIn(): boolean {
    if (this.#underWay - this.#inLine + this.#letIn >= this.#limits.operations) return false;
    if (this.#letIn === 0) queueMicrotask(this.#forgetLetIn);
    this.#letIn += 1;
    return true;
  }

  /** Resolves when somebody who was not let in may be told so: not everybody at the same moment. */
  async beforeRefusal(): Promise<void> {
    this.#refusals += 1;
    const times = Math.min(1 + this.#refusals / MANY_REFUSALS, LONGEST);
    await new Promise((resolve) => setTimeout(resolve, REFUSAL_MS * times * (0.5 + Math.random())));
    this.#refusals -= 1;
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

  readonly #forgetLetIn = () => {
    this.#letIn = 0;
  };

  /** Resolves when nothing is under way, or when the time is up. */
  async idle(timeoutMs: number): Promise<void> {
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
    this.#load.checkLine();
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
