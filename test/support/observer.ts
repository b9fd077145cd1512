import type { EngineObserver } from '../../src/engine/observer.js';

/** Keeps what it is told. */
export class RecordingObserver implements EngineObserver {
  readonly groups: number[] = [];
  readonly errors: unknown[] = [];
  watcherCount = 0;
  decidedCount = 0;
  publishedCount = 0;

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
}
