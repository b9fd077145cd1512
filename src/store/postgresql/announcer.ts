import type pg from 'pg';

/** The channel on which every instance hears that the log has grown. The migrations name it, too. */
export const CHANNEL = 'holdfast_log';

/**
 * A group that comes this soon after one that was announced is announced later, with those that follow it: each announcement
 * wakes up a process of the database for every instance, which slows the groups down by a fifth.
 */
const PAUSE_MS = 5;

/** Announces to other instances that the log has grown: by a group itself as it commits, or soon after it. */
export class Announcer {
  readonly #pool: pg.Pool;
  #announcedAt = -Infinity;
  /** The newest revision that was not announced. */
  #pending: bigint | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Whether the next group is to announce itself. */
  get isDue(): boolean {
    return performance.now() - this.#announcedAt >= PAUSE_MS;
  }

  /** @param isAnnounced whether the group that led to this revision announced itself */
  stored(revision: bigint, isAnnounced: boolean): void {
    if (isAnnounced) {
      this.#announcedAt = performance.now();
      this.#pending = null;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    } else {
      this.#pending = revision;
      this.#timer ??= setTimeout(() => void this.#announce(), PAUSE_MS);
    }
  }

  /** Announces what is pending. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#announce();
  }

  /** Where it fails, others find out by themselves within a second. */
  async #announce(): Promise<void> {
    const revision = this.#pending;
    if (revision === null) return;
    this.stored(revision, true);
    await this.#pool.query(`SELECT pg_notify('${CHANNEL}', '${revision}')`).catch(() => undefined);
  }
}
