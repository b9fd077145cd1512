/** A probe that got no answer by then counts as a database that does not answer. */
const PROBE_TIMEOUT_MS = 2_000;

/** How long an answer is good for: so probes cost the database next to nothing, however often they come. */
const PROBE_VALID_MS = 500;

/** Whether the server can take work. */
export class Health {
  #shuttingDown = false;
  #probe: { readonly startedAt: number; readonly answers: Promise<boolean> } | null = null;

  /** @param probe resolves where the schema is applied and the database answers. */
  constructor(readonly probe: () => Promise<unknown>) {}

  /** From now on it is not ready. */
  shutDown(): void {
    this.#shuttingDown = true;
  }

  /** null: it is ready; else why not. Takes as long as {@link PROBE_TIMEOUT_MS} at the most, and never throws. */
  async unreadyBecause(): Promise<string | null> {
    // A server that shuts down asks nothing more of the database; it may also begin to while the database is asked.
    const answers = this.#shuttingDown || (await this.#databaseAnswers());
    if (this.#shuttingDown) return 'shutting down';
    return answers ? null : 'the database does not answer';
  }

  #databaseAnswers(): Promise<boolean> {
    const now = performance.now();
    if (this.#probe === null || now - this.#probe.startedAt > PROBE_VALID_MS) {
      this.#probe = { startedAt: now, answers: this.#ask() };
    }
    return this.#probe.answers;
  }

  async #ask(): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), PROBE_TIMEOUT_MS);
    });
    const answered = (async () => this.probe())().then(
      () => true,
      () => false,
    );
    const answers = await Promise.race([answered, tooLate]);
    clearTimeout(timer);
    return answers;
  }
}
