import type { Logger } from './logger.js';

/** A fault of the program fails every group: one line for all of them in that time says enough. */
const QUIET_MS = 1_000;
/** An outage goes on: so often it is told again. */
const REMINDER_MS = 60_000;
/** During an outage it is tried so often whether it is over. */
const TRY_MS = 1_000;

export interface FailureLogOptions {
  /** Why the database is out of reach, in words; null: the error is a fault of the program, and its stack is of use. */
  readonly outageIn: (error: unknown) => string | null;
  /** Resolves where the database can be used again. */
  readonly tryAgain: () => Promise<unknown>;
}

/**
 * Logs failures of the engine. An outage is told when it begins, once a minute, and when it is over; whatever else fails at once,
 * then at most once a second.
 */
export class FailureLog {
  readonly #logger: Logger;
  readonly #options: FailureLogOptions;
  #failures = 0;
  #quietUntil = 0;
  #outage: { readonly since: number; tellAt: number } | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(logger: Logger, options: FailureLogOptions) {
    this.#logger = logger;
    this.#options = options;
  }

  failed(error: unknown): void {
    this.#failures += 1;
    const reason = this.#options.outageIn(error);
    if (reason === null) this.#tellFault(error);
    else this.#tellOutage(reason);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #tellFault(error: unknown): void {
    const now = performance.now();
    if (now < this.#quietUntil) return;
    this.#logger.error({ err: error, failures: this.#failures }, 'the engine could not do its work');
    this.#quietUntil = now + QUIET_MS;
    this.#failures = 0;
  }

  #tellOutage(reason: string): void {
    const now = performance.now();
    if (this.#outage === null) {
      this.#outage = { since: now, tellAt: now };
      this.#tryLater();
    }
    if (now < this.#outage.tellAt) return;
    this.#outage.tellAt = now + REMINDER_MS;
    this.#logger.error({ reason, failures: this.#failures }, 'the database can not be used');
    this.#failures = 0;
  }

  #tryLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#try(), TRY_MS).unref();
  }

  async #try(): Promise<void> {
    try {
      await this.#options.tryAgain();
    } catch {
      this.#tryLater();
      return;
    }
    const outageMs = Math.round(performance.now() - (this.#outage?.since ?? 0));
    this.#logger.info({ outageMs, failures: this.#failures }, 'the database can be used again');
    this.#outage = null;
    this.#failures = 0;
  }
}
