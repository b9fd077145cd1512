import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { AcquireCommand, Command } from '../../../src/locks/commands.js';
import type { LockStore } from '../../../src/store/lock-store.js';
import { acquire, release } from '../../support/commands.js';
import { rounds, timeLimit } from '../../support/rounds.js';
import { runSql } from '../../support/sql.js';
import { answerTo } from './answers.js';
import { firstMessageBytes } from './messages.js';
import { HOLDS_THE_LOCK, untilThereIs } from './sessions.js';
import { forbidToAsk, logOf, openQuietStore, openStoreBehindProxy } from './store.js';

/** Long enough for all that was sent to be where it can get. */
const QUIET_MS = 100;
/** Between two cuts, at the most: a few groups, and the time to connect again. */
const CUT_PAUSE_MS = 200;
const TURN_MS = 10;
/** So many are told that they stand in line. */
const QUEUED = rounds(3_000, 50);

function wait(resource: string, owner: string, id = owner): AcquireCommand {
  return { ...acquire(resource, owner), wait: { id, instance: 'here', waitMs: 60_000, detectDeadlock: false } };
}

async function waitersOf(databaseUrl: string): Promise<unknown[]> {
  const rows = await runSql(databaseUrl, 'SELECT waiter_id FROM lock_waiters ORDER BY ticket');
  expect(await runSql(databaseUrl, 'SELECT waiting FROM lock_tickets')).toEqual([{ waiting: BigInt(rows.length) }]);
  return rows.map(({ waiter_id: id }) => id);
}

/** What happened to `job`, and to whom, from the beginning. */
async function eventsOf(store: LockStore): Promise<string[]> {
  const events = (await logOf(store)).filter(({ resource }) => resource === 'job');
  return events.map(({ type, owner, waiterId }) => `${type} ${owner}${waiterId === null ? '' : ` for ${waiterId}`}`);
}

/** See `forbidToAsk`. On a busy machine it takes the store a while to know the time. */
async function forbidOnceNothingIsToBeAsked(store: LockStore, databaseUrl: string): Promise<() => Promise<void>> {
  for (;;) {
    await store.commit([acquire('mine', 'A')]);
    const allow = await forbidToAsk(databaseUrl);
    const isStored = await store.commit([acquire('mine', 'A')]).then(
      () => true,
      () => false,
    );
    if (isStored) return allow;
    await allow();
  }
}

/** Nobody gives up this place: a group that tries to takes two messages. */
const LEAVE_NOTHING: Command = { kind: 'leave', waiterId: 'nobody', ticket: 99n, resources: ['job'] };
const NOT_IN_LINE = { kind: 'not-in-line' };

/**
 * While A holds `job`, and these wait for it: a group of two messages that is decided, and whose second message has not left yet. The
 * store knows that the lock is held.
 */
async function decideGroup(commands: readonly Command[], ...waiting: readonly string[]) {
  const { store, proxy, databaseUrl } = await openStoreBehindProxy();
  const observer = await openQuietStore(databaseUrl);
  await store.commit([acquire('job', 'A')]);
  for (const owner of waiting) await observer.commit([wait('job', owner)]);
  proxy.stall({ direction: 'toServer', afterBytes: firstMessageBytes(...commands) });
  const group = store.commit(commands);
  await untilThereIs(databaseUrl, HOLDS_THE_LOCK);
  await sleep(QUIET_MS);
  return { store, proxy, observer, databaseUrl, group };
}

describe('a group whose connection breaks after it was stored and before the answer came', () => {
  test('is told that it stands in line, where it does once', async () => {
    const { proxy, observer, databaseUrl, group } = await decideGroup([wait('job', 'B'), LEAVE_NOTHING]);
    proxy.stall({ direction: 'toClient' });
    await expect.poll(() => waitersOf(databaseUrl)).toEqual(['B']);
    proxy.cut();
    proxy.pass();
    expect((await group).outcomes).toMatchObject([{ kind: 'queued', ticket: 1n, replaced: null }, NOT_IN_LINE]);
    expect(await waitersOf(databaseUrl)).toEqual(['B']);
    await observer.commit([release('job', 'A')]);
    expect(await eventsOf(observer)).toEqual(['ACQUIRED A', 'RELEASED A', 'ACQUIRED B for B']);
  });

  test('is told that it stood in line, where it has had its turn meanwhile, and takes no other one', async () => {
    const { proxy, observer, databaseUrl, group } = await decideGroup([wait('job', 'B'), LEAVE_NOTHING]);
    proxy.stall({ direction: 'toClient' });
    await expect.poll(() => waitersOf(databaseUrl)).toEqual(['B']);
    await observer.commit([release('job', 'A')]);
    proxy.cut();
    proxy.pass();
    expect((await group).outcomes).toMatchObject([{ kind: 'queued', ticket: 1n }, NOT_IN_LINE]);
    expect(await waitersOf(databaseUrl)).toEqual([]);
    expect(await eventsOf(observer)).toEqual(['ACQUIRED A', 'RELEASED A', 'ACQUIRED B for B']);
  });

  test('is told what it handed over, and to whom', async () => {
    const { proxy, observer, databaseUrl, group } = await decideGroup([release('job', 'A'), LEAVE_NOTHING], 'B', 'C');
    proxy.stall({ direction: 'toClient' });
    await expect.poll(() => waitersOf(databaseUrl)).toEqual(['C']);
    proxy.cut();
    proxy.pass();
    const { outcomes, events } = await group;
    expect(outcomes).toMatchObject([{ kind: 'released' }, NOT_IN_LINE]);
    expect(events.map(({ owner, waiterId }) => [owner, waiterId])).toEqual([
      ['A', null],
      ['B', 'B'],
    ]);
    expect(await eventsOf(observer)).toEqual(['ACQUIRED A', 'RELEASED A', 'ACQUIRED B for B']);
    expect(await waitersOf(databaseUrl)).toEqual(['C']);
  });

  test('is told that it stands in line no more, where it has left', async () => {
    const leave: Command = { kind: 'leave', waiterId: 'B', ticket: 1n, resources: ['job'] };
    const { proxy, databaseUrl, group } = await decideGroup([leave], 'B', 'C');
    proxy.stall({ direction: 'toClient' });
    await expect.poll(() => waitersOf(databaseUrl)).toEqual(['C']);
    proxy.cut();
    proxy.pass();
    expect((await group).outcomes).toMatchObject([{ kind: 'not-in-line' }]);
    expect(await waitersOf(databaseUrl)).toEqual(['C']);
  });
});

test('a group that was to stand in line, and whose connection breaks before its COMMIT arrived, stands there once', async () => {
  const { proxy, databaseUrl, group } = await decideGroup([wait('job', 'B'), LEAVE_NOTHING]);
  proxy.cut();
  proxy.pass();
  expect((await group).outcomes).toMatchObject([{ kind: 'queued', ticket: 1n }, NOT_IN_LINE]);
  expect(await waitersOf(databaseUrl)).toEqual(['B']);
});

describe('a group of one message whose connection breaks after it was stored and before the answer came', () => {
  /**
   * While A holds `job`, and B and C wait for it, as the store knows: X has joined elsewhere since.
   *
   * @param waiting who stands in line when it is stored
   */
  async function storeUnheard(commands: readonly Command[], waiting: readonly string[]) {
    const { store, proxy, databaseUrl } = await openStoreBehindProxy();
    const observer = await openQuietStore(databaseUrl);
    await store.commit([acquire('job', 'A'), wait('job', 'B'), wait('job', 'C')]);
    await observer.commit([acquire('theirs', 'Z'), wait('theirs', 'X')]);
    const allow = await forbidOnceNothingIsToBeAsked(store, databaseUrl);
    proxy.stall({ direction: 'toClient' });
    const group = store.commit(commands);
    await expect.poll(() => waitersOf(databaseUrl)).toEqual(waiting);
    await allow();
    return {
      observer,
      databaseUrl,
      breakOff: async () => {
        proxy.cut();
        proxy.pass();
        return group;
      },
    };
  }

  test('is told its place in line', async () => {
    const { observer, databaseUrl, breakOff } = await storeUnheard([wait('job', 'D'), wait('job', 'E')], ['B', 'C', 'X', 'D', 'E']);
    expect((await breakOff()).outcomes).toMatchObject([
      { kind: 'queued', ticket: 4n, replaced: null },
      { kind: 'queued', ticket: 5n },
    ]);
    await observer.commit([{ kind: 'leave', waiterId: 'D', ticket: 4n, resources: ['job'] }]);
    expect(await waitersOf(databaseUrl)).toEqual(['B', 'C', 'X', 'E']);
  });

  test('is told that it stood in line, where it has had its turn meanwhile', async () => {
    const { observer, databaseUrl, breakOff } = await storeUnheard([wait('job', 'D')], ['B', 'C', 'X', 'D']);
    for (const owner of ['A', 'B', 'C']) await observer.commit([release('job', owner)]);
    expect((await breakOff()).outcomes).toMatchObject([{ kind: 'queued' }]);
    expect(await waitersOf(databaseUrl)).toEqual(['X']);
    expect((await eventsOf(observer)).at(-1)).toBe('ACQUIRED D for D');
  });

  test('is told what it handed over, and to whom, and its place in line', async () => {
    const { observer, breakOff } = await storeUnheard([release('job', 'A'), wait('job', 'A', 'A again')], ['C', 'X', 'A again']);
    const { outcomes, events } = await breakOff();
    expect(outcomes).toMatchObject([{ kind: 'released' }, { kind: 'queued', ticket: 4n }]);
    expect((await logOf(observer)).slice(-2)).toEqual(events);
    expect(await eventsOf(observer)).toEqual(['ACQUIRED A', 'RELEASED A', 'ACQUIRED B for B']);
  });
});

test(
  'groups whose connections are cut at any moment stand in line once or not at all, as they were told, and have one turn each',
  { timeout: timeLimit(60_000) },
  async () => {
    const { store, proxy, databaseUrl } = await openStoreBehindProxy();
    const observer = await openQuietStore(databaseUrl);
    await observer.commit([acquire('job', 'A', { ttlMs: 600_000 })]);
    const told = new Map<string, string>();
    let queued = 0;
    const work = async (worker: number): Promise<void> => {
      for (let n = 0; queued < QUEUED; n++) {
        const id = `${worker}:${n}`;
        const { answer } = await answerTo(store, wait('job', id));
        told.set(id, answer);
        if (answer === 'queued') queued++;
      }
    };
    const cut = async (): Promise<void> => {
      while (queued < QUEUED) {
        await sleep(Math.random() * CUT_PAUSE_MS);
        proxy.cut();
      }
    };
    const passOn = async (): Promise<void> => {
      for (let holder = 'A'; queued < QUEUED;) {
        const { events } = await observer.commit([release('job', holder), acquire('job', 'A', { ttlMs: 600_000 })]);
        holder = events.at(-1)?.owner ?? holder;
        await sleep(TURN_MS);
      }
    };
    await Promise.all([work(1), work(2), cut(), passOn()]);
    const turns = (await logOf(observer)).flatMap(({ waiterId }) => waiterId ?? []);
    const waiting = (await waitersOf(databaseUrl)) as string[];
    const present = new Set([...turns, ...waiting]);
    expect(turns.length + waiting.length).toBe(present.size);
    for (const [id, answer] of told) {
      if (answer === 'queued') expect(present.has(id), id).toBe(true);
      else if (answer === 'unavailable, not applied') expect(present.has(id), id).toBe(false);
    }
    expect(turns).not.toEqual([]);
  },
);
