import type { Command } from '../locks/commands.js';
import type { Outcome } from '../locks/outcomes.js';
import type { WaitEnd } from './waiting-call.js';

/** What the engine tells whoever measures it. Each method returns at once and never throws. */
export interface EngineObserver {
  /** A command was answered. */
  decided(command: Command, outcome: Outcome): void;
  /** A group of that many commands was committed, in that time. */
  committed(commands: number, commitMs: number): void;
  /** A group, the feed or the sweeper failed: the database did not answer, or a fault of ours. The next try may do better. */
  failed(error: unknown): void;
  /** An event reached the feed, that long after it was written, by this machine's clock. */
  published(lagMs: number): void;
  watchers(count: number): void;
  /** So many calls stand in line at this instance. */
  waiting(count: number): void;
  /** Somebody had its turn, and is told of it that long after it was written, by this machine's clock. */
  handedOver(lagMs: number): void;
  /** A call stood in line for so long. */
  waited(end: WaitEnd, waitedMs: number): void;
}
