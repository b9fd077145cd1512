import type { LockStore } from '../store/lock-store.js';
import type { EngineObserver } from './observer.js';
import { repeat } from './repeat.js';
import type { WaitingCall } from './waiting-call.js';

const LOOK_MS = 1000;

interface Follower {
  readonly tell: (position: number) => void;
  told: number | null;
}

/** Tells calls of this instance of their places in line, with one look at the database for all of them. */
export class Positions {
  readonly #store: LockStore;
  readonly #instance: string;
  readonly #observer: EngineObserver;
  readonly #followers = new Map<WaitingCall, Follower>();
  /** null: nobody is to be told. */
  #stop: (() => Promise<void>) | null = null;

  constructor(store: LockStore, instance: string, observer: EngineObserver) {
    this.#store = store;
    this.#instance = instance;
    this.#observer = observer;
  }

  /** @param tell called with the place (1 is next) when it has changed, at most once a second */
  follow(call: WaitingCall, tell: (position: number) => void): void {
    this.#followers.set(call, { tell, told: null });
    this.#stop ??= repeat(LOOK_MS, this.#observer, () => this.#look());
  }

  leave(call: WaitingCall): void {
    this.#followers.delete(call);
    if (this.#followers.size > 0 || this.#stop === null) return;
    void this.#stop();
    this.#stop = null;
  }

  async close(): Promise<void> {
    await this.#stop?.();
  }

  async #look(): Promise<boolean> {
    const resources = new Set([...this.#followers.keys()].flatMap((call) => call.resources));
    const positions = await this.#store.positions(this.#instance, [...resources]);
    for (const [call, follower] of this.#followers) {
      const position = positions.get(call.id);
      if (position === undefined || position === follower.told) continue;
      follower.told = position;
      follower.tell(position);
    }
    return false;
  }
}
