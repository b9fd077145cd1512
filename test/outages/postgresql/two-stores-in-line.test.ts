import fc from 'fast-check';
import pg from 'pg';
import { expect, test, vi } from 'vitest';
import type { Command } from '../../../src/locks/commands.js';
import type { GroupDecision } from '../../../src/locks/group.js';
import type { LockEvent } from '../../../src/locks/events.js';
import type { Outcome } from '../../../src/locks/outcomes.js';
import type { LockStore } from '../../../src/store/lock-store.js';
import { openStore } from '../../../src/store/open-store.js';
import { leave, wait, waitForAll } from '../../contract/lines.js';
import { everything } from '../../contract/store-fixture.js';
import { MemoryStore } from '../../locks/memory-store.js';
import { acquire, release, renew } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { rounds, timeLimit } from '../../support/rounds.js';
import { runSql } from '../../support/sql.js';
import { stopTime } from './stopped-time.js';

const NAMES = ['x', 'y'] as const;

const EMPTY = `WITH a AS (DELETE FROM distributed_locks), b AS (DELETE FROM lock_events), c AS (DELETE FROM lock_waiters),
  d AS (DELETE FROM lock_grants), e AS (UPDATE lock_tickets SET last = 0, waiting = 0)
  UPDATE lock_clock SET revision = 0`;

const TTL_MS = 30_000;
const SHORT_MS = 50;

/** What is asked for may depend on what has happened so far. */
type MakeCommand = (model: MemoryStore, instance: string, id: string) => Command;

const name = fc.constantFrom(...NAMES);
const owner = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const holderOf = ({ rows }: MemoryStore, resource: string) => rows.get(resource)?.owner ?? 'nobody';

const joins = fc
  .record({
    resource: name,
    who: owner,
    requestId: fc.constantFrom(null, null, null, 'p', 'q'),
    ttlMs: fc.constantFrom(TTL_MS, TTL_MS, SHORT_MS),
    waitMs: fc.constantFrom(null, TTL_MS, TTL_MS, SHORT_MS),
  })
  .map(({ resource, who, ...rest }): MakeCommand => {
    return (_, instance, id) => wait(resource, who, { ...rest, instance, id });
  });
const releases = name.map((resource): MakeCommand => {
  return (model) => release(resource, holderOf(model, resource), model.rows.get(resource)?.fencingToken);
});
const renews = name.map(
  (resource): MakeCommand =>
    (model) =>
      renew(resource, holderOf(model, resource)),
);
const acquires = fc.tuple(name, owner).map(
  ([resource, who]): MakeCommand =>
    () =>
      acquire(resource, who),
);
const joinsBoth = owner.map(
  (who): MakeCommand =>
    (_, instance, id) =>
      waitForAll(NAMES, who, { instance, id }),
);
const leaves = fc.nat().map((which): MakeCommand => ({ waiters }) => {
  const waiter = waiters[which % Math.max(1, waiters.length)];
  return waiter === undefined ? leave('nobody', 1n, 'x') : leave(waiter.id, waiter.ticket, ...waiter.resources);
});

const step = fc.record({
  store: fc.constantFrom(0 as const, 1 as const),
  commands: fc.array(
    fc.oneof(
      { weight: 8, arbitrary: joins },
      { weight: 8, arbitrary: releases },
      ...[renews, acquires, joinsBoth, leaves].map((arbitrary) => ({ weight: 1, arbitrary })),
    ),
    { minLength: 1, maxLength: 2 },
  ),
  passMs: fc.constantFrom(0, 0, 0, 0, 0, 0, SHORT_MS),
  /** Whether the other instance hears of it. */
  isFollowed: fc.constantFrom(true, true, true, false),
});

/** All but the times: those of the model stand still at another moment. */
function timeless({ outcomes, events }: Pick<GroupDecision, 'outcomes' | 'events'>): readonly string[] {
  return [...outcomes.map(answer), ...events.map(change)];
}

function answer(outcome: Outcome): string {
  if (outcome.kind === 'queued') return `queued ${outcome.ticket} ${outcome.replaced}`;
  if (outcome.kind === 'conflict') return `conflict ${outcome.reason} ${outcome.current?.fencingToken}`;
  return outcome.kind === 'acquired' ? `acquired ${outcome.lock.fencingToken} ${outcome.reacquired}` : outcome.kind;
}

function change({ type, resource, owner: who, revision, fencingToken, requestId, waiterId }: LockEvent): string {
  return [type, resource, who, revision, fencingToken, requestId, waiterId].join(' ');
}

test(
  'groups of two instances in lines that both change are told, and store, what one that knows everything would',
  { timeout: timeLimit(60_000) },
  async () => {
    const databaseUrl = await createDatabase();
    const time = await stopTime(databaseUrl);
    const query = vi.spyOn(pg.Client.prototype, 'query');
    let groups = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), async (steps) => {
        await runSql(databaseUrl, EMPTY);
        const open = () => openStore({ databaseUrl, retryWindowMs: 600_000, listenUrl: null });
        const stores = [await open(), await open()] as const;
        const model = new MemoryStore();
        const told: LockEvent[] = [];
        try {
          for (const { store: index, commands, passMs, isFollowed } of steps) {
            const [store, other]: readonly LockStore[] = index === 0 ? stores : stores.toReversed();
            await time.advance(passMs);
            model.now += passMs;
            const group = commands.map((make, n) => make(model, `${index}`, `${groups}:${n}`));
            groups++;
            const committed = await store!.commit(group);
            expect(timeless(committed)).toEqual(timeless(model.commit(group)));
            told.push(...committed.events);
            if (isFollowed) await other!.readLog(0n, 10_000, everything);
          }
          expect((await stores[0].readLog(0n, 10_000, everything)).events).toEqual(told);
        } finally {
          for (const store of stores) await store.close();
        }
      }),
      { numRuns: rounds(500, 8) },
    );
    // All of this is about groups that take one message.
    const assumed = (query.mock.calls as unknown[][]).filter(([text]) => String(text).includes('holdfast_as_assumed'));
    query.mockRestore();
    expect(assumed.length).toBeGreaterThan(groups / 8);
  },
);
