import { expect } from 'vitest';
import type { WatchItem, WatchRequest } from '../../src/engine/watch.js';
import { Engine, type EngineOptions } from '../../src/engine/engine.js';
import { openStore } from '../../src/store/open-store.js';
import { createDatabase } from './database.js';
import { ManualTime } from './manual-time.js';
import { RecordingObserver } from './observer.js';
import { whenOver } from './shared.js';
import { placesInLine } from './waiting.js';

export const RETENTION = { eventAgeMs: 3_600_000_000, eventRows: 1_000_000, expiredLockAgeMs: 3_600_000_000 };

export interface EngineFixture {
  readonly databaseUrl: string;
  readonly time: ManualTime;
  readonly engine: Engine;
  readonly observer: RecordingObserver;
}

/** A real engine on a real database (left out: a new one), whose time moves by hand; closed when the test is over. */
export async function startEngine(
  options: Partial<EngineOptions> = {},
  on?: { databaseUrl: string; time: ManualTime },
): Promise<EngineFixture> {
  const databaseUrl = on?.databaseUrl ?? (await createDatabase());
  // Registered first, so it runs when every engine on the database is closed.
  if (on === undefined) whenOver(async () => expect(await placesInLine(databaseUrl)).toBe(0));
  const time = on?.time ?? new ManualTime();
  const observer = new RecordingObserver();
  const store = await openStore({ databaseUrl, retryWindowMs: 600_000, time: time.cells });
  const engine = await Engine.start(store, observer, { retention: RETENTION, ...options });
  whenOver(async () => {
    await engine.close();
    expect(observer.watcherCount).toBe(0);
    expect(observer.waitingCount).toBe(0);
  });
  return { databaseUrl, time, engine, observer };
}

export function watchRequest(
  rest: Partial<WatchRequest> & { resource?: string; prefix?: string; owner?: string } = {},
): WatchRequest {
  const { resource = null, prefix = null, owner = null, ...others } = rest;
  return { selector: { resource, prefix, owner }, types: null, after: null, logId: null, snapshot: true, ...others };
}

/** The next so many items of a watch. */
export async function take(watch: AsyncIterableIterator<WatchItem>, count: number): Promise<WatchItem[]> {
  const items: WatchItem[] = [];
  while (items.length < count) {
    const { value, done } = await watch.next();
    if (done === true) throw new Error(`The watch ended after ${items.length} items`);
    items.push(value);
  }
  return items;
}

/** What an item is, in a word that tests can compare. */
export function brief(item: WatchItem): string {
  if (item.kind === 'event') return `${item.event.type} ${item.event.resource} ${item.event.revision}`;
  if (item.kind === 'bookmark') return `bookmark ${item.revision}`;
  return `${item.reason} ${item.locks.map(({ resource }) => resource).join(' ')} ${item.revision}${item.complete ? '' : ' ...'}`;
}
