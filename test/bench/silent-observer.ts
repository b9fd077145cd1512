import type { EngineObserver } from '../../src/engine/observer.js';

/** Hears of failures only: a run that had one measured nothing. */
export class SilentObserver implements EngineObserver {
  decided(): void {}
  committed(): void {}
  published(): void {}
  watchers(): void {}
  waiting(): void {}
  waited(): void {}
  handedOver(): void {}
  failed(error: unknown): void {
    console.error(error);
    process.exitCode = 1;
  }
}
