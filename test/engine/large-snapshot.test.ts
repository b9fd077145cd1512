import { expect, test } from 'vitest';
import type { Snapshot, WatchItem } from '../../src/engine/watch.js';
import { acquire, release, renew } from '../support/commands.js';
import { createDatabase } from '../support/database.js';
import { startEngine, watchRequest } from '../support/engine.js';
import { ManualTime } from '../support/manual-time.js';
import { insertRows, runSql } from '../support/sql.js';

const LOCKS = 100_000;
const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 1);
const nameOf = (n: number) => `job:${String((n * 7919) % LOCKS).padStart(6, '0')}`;

/** An engine on a database in which so many locks are held, by A. */
async function startWithLocks() {
  const [databaseUrl, time] = [await createDatabase(), new ManualTime()];
  const rows = Array.from({ length: LOCKS }, (_, n) => ({
    resource: nameOf(n),
    owner: 'A',
    fencing_token: n + 1,
    revision: n + 1,
    acquired_at: START,
    expires_at: START + DAY_MS,
    ttl_ms: DAY_MS,
    reacquired: false,
    expiry_recorded: false,
  }));
  await insertRows(databaseUrl, 'distributed_locks', rows);
  await runSql(databaseUrl, 'UPDATE lock_clock SET revision = $1, oldest_revision = $1', [LOCKS]);
  return startEngine({}, { databaseUrl, time });
}

/** What a watcher knows: the revision of each lock. */
class Known {
  readonly revisions = new Map<string, bigint>();
  position = -1n;

  apply(item: WatchItem): void {
    if (item.kind === 'snapshot') {
      for (const { resource, revision } of item.locks) this.revisions.set(resource, revision);
      if (item.complete) this.position = item.revision;
    } else if (item.kind === 'event') {
      const { type, resource, revision } = item.event;
      this.position = revision;
      // What the snapshot already has, or has left out: it was newer.
      if ((this.revisions.get(resource) ?? -1n) >= revision) return;
      if (type === 'RELEASED' || type === 'EXPIRED') this.revisions.delete(resource);
      else this.revisions.set(resource, revision);
    }
  }
}

test(
  'a snapshot of 100,000 locks in parts, with the events that follow it, is what is held, though it changed all the time',
  { timeout: 120_000 },
  async () => {
    const { engine, databaseUrl } = await startWithLocks();
    let changes = 0;
    const reading = new AbortController();
    const change = async (lane: number) => {
      for (let n = lane; !reading.signal.aborted; n += 8) {
        // Before and behind the part that is being read, in an order that has nothing to do with it.
        await engine.submit(release(nameOf(n), 'A'));
        if (n % 3 === 0) await engine.submit(acquire(nameOf(n), 'B', { ttlMs: DAY_MS }));
        if (n % 6 === 0) await engine.submit(renew(nameOf(n), 'B'));
        if (n % 2 === 0) await engine.submit(acquire(`job:new:${n}`, 'C', { ttlMs: DAY_MS }));
        changes += 1;
      }
    };
    const changing = Array.from({ length: 8 }, (_, lane) => change(lane));

    const known = new Known();
    const parts: Snapshot[] = [];
    const watch = engine.watch(watchRequest());
    const changesBefore = changes;
    while (parts.at(-1)?.complete !== true) {
      const { value } = await watch.next();
      if (value?.kind !== 'snapshot') throw new Error('Something else than a part of the snapshot came');
      known.apply(value);
      parts.push(value);
    }
    const changesMeanwhile = changes - changesBefore;
    reading.abort();
    await Promise.all(changing);
    const { revision } = await engine.head();
    while (known.position < revision) known.apply((await watch.next()).value);
    await watch.return?.();

    expect(parts.length).toBeGreaterThan(100);
    expect(parts.map(({ part }) => part)).toEqual(parts.map((_, n) => n + 1));
    expect(new Set(parts.map((part) => part.revision)).size).toBe(1);
    // Nobody waited for the snapshot.
    expect(changesMeanwhile).toBeGreaterThan(100);
    const rows = await runSql(databaseUrl, 'SELECT resource, revision FROM distributed_locks');
    expect(known.revisions).toEqual(new Map(rows.map((row) => [row['resource'], row['revision']])));
  },
);
