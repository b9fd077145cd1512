import type { Command } from '../locks/commands.js';
import type { Outcome } from '../locks/outcomes.js';

/** What the engine tells whoever measures it. Each method returns at once and never throws. */
export interface EngineObserver {
  /** A command was answered. */
  decided(command: Command, outcome: Outcome): void;
  /** A group of that many commands was committed, in that time. */
  committed(commands: number, commitMs: number): void;
  /** A group failed: the database did not answer, or a fault of ours. */
  failed(error: unknown): void;
  /** An event reached the feed, that long after it was written, by the store's clock. */
  published(lagMs: number): void;
  watchers(count: number): void;
}
