import type { EngineObserver } from '../../src/engine/observer.js';
import type { WaitEnd } from '../../src/engine/waiting-call.js';

/** Keeps what it is told. */
export class RecordingObserver implements EngineObserver {
  readonly groups: number[] = [];
  readonly errors: unknown[] = [];
  readonly waitEnds: WaitEnd[] = [];
  watcherCount = 0;
  waitingCount = 0;
  decidedCount = 0;
  publishedCount = 0;
  handedOverCount = 0;

  decided(): void {
    this.decidedCount++;
  }

  committed(commands: number): void {
    this.groups.push(commands);
  }

  failed(error: unknown): void {
    this.errors.push(error);
  }

  published(): void {
    this.publishedCount++;
  }

  watchers(count: number): void {
    this.watcherCount = count;
  }

  waiting(count: number): void {
    this.waitingCount = count;
  }

  handedOver(): void {
    this.handedOverCount++;
  }

  waited(end: WaitEnd): void {
    this.waitEnds.push(end);
  }
}
