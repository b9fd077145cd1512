import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Command } from '../../src/locks/commands.js';
import type { LockEvent } from '../../src/locks/events.js';
import type { LockStore } from '../../src/store/lock-store.js';
import { acquire, release } from '../support/commands.js';
import { rounds, timeLimit } from '../support/rounds.js';
import { acquired } from './decisions.js';
import { brief, join, leave, wait, waitForAll } from './lines.js';
import { everything, type OpenFixture } from './store-fixture.js';

/** Of two instances, each with one name after the other. */
const WORKERS = 8;

/** Several instances, each of which may remember what the others have changed since. */
export function describeWaitingTogether(openFixture: OpenFixture): void {
  it('an instance that knows a lock as free or as its own overtakes nobody who has come to another one', async () => {
    const { open } = await openFixture();
    const [first, second] = [await open(), await open()];
    await first.commit([acquire('own', 'a'), acquire('free', 'a'), release('free', 'a')]);
    await acquired(second, 'free', 'b');
    await join(second, wait('free', 'c', { instance: 'two' }));
    await join(second, wait('own', 'd', { instance: 'two' }));
    const { outcomes, events } = await first.commit([acquire('free', 'e'), release('own', 'a')]);
    expect(outcomes).toMatchObject([{ kind: 'conflict', current: { owner: 'b' } }, { kind: 'released' }]);
    expect(events.map(brief)).toEqual(['RELEASED own a', 'ACQUIRED own d for d']);
    const released = await second.commit([release('free', 'b'), acquire('free', 'e')]);
    expect(released.events.map(brief)).toEqual(['RELEASED free b', 'ACQUIRED free c for c']);
    expect(released.outcomes).toMatchObject([{ kind: 'released' }, { kind: 'conflict', current: { owner: 'c' } }]);
  });

  it('a release of one of several locks, by an instance that knows nothing of the line, gives nothing away of the others', async () => {
    const { open } = await openFixture();
    const [first, second] = [await open(), await open()];
    await first.commit([acquire('x', 'a'), acquire('y', 'a')]);
    await join(second, waitForAll(['x', 'y'], 'b', { instance: 'two' }));
    expect((await first.commit([release('x', 'a')])).events.map(brief)).toEqual(['RELEASED x a']);
    const { outcomes } = await first.commit([acquire('x', 'c')]);
    expect(outcomes).toMatchObject([{ kind: 'conflict', reason: 'HELD_BY_ANOTHER', current: null }]);
    const { events } = await first.commit([release('y', 'a')]);
    expect(events.map(brief)).toEqual(['RELEASED y a', 'ACQUIRED x b for b', 'ACQUIRED y b for b']);
  });

  it('callers of two instances have their turns one by one, each line in the order of its tickets', async () => {
    const { open, waiting } = await openFixture();
    const stores = [await open(), await open()] as const;
    const names = ['x', 'y', 'z'];
    const tickets = new Map<string, bigint>();
    const work = async (worker: number): Promise<void> => {
      const store = stores[worker % 2] as LockStore;
      for (let n = 0; n < 12; n++) {
        const id = `${worker}:${n}`;
        const resource = names[(worker + n) % names.length] as string;
        const { outcomes } = await store.commit([wait(resource, id, { instance: `${worker % 2}` })]);
        if (outcomes[0]?.kind === 'queued') tickets.set(id, outcomes[0].ticket);
        else expect(outcomes).toMatchObject([{ kind: 'acquired' }]);
        await untilHeld(store, resource, id);
        expect((await store.commit([release(resource, id)])).outcomes).toMatchObject([{ kind: 'released' }]);
      }
    };
    // All stand in line once, whatever the machine is like; later on those who come in time.
    await stores[0].commit(names.map((name) => acquire(name, 'first')));
    const done = Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)));
    await expect.poll(waiting).toEqual({ counted: BigInt(WORKERS), present: BigInt(WORKERS) });
    await stores[0].commit(names.map((name) => release(name, 'first')));
    await done;
    const { events } = await stores[0].readLog(0n, 10_000, everything);
    for (const name of names) {
      const turns = events.filter(({ resource, type }) => resource === name && type === 'ACQUIRED');
      expect(turns).toHaveLength(1 + 32);
      const inLine = turns.flatMap(({ waiterId }) => tickets.get(waiterId ?? '') ?? []);
      expect(inLine).toEqual([...inLine].sort((a, b) => Number(a - b)));
    }
    expect(tickets.size).toBeGreaterThanOrEqual(WORKERS);
    expect(await waiting()).toEqual({ counted: 0n, present: 0n });
  });

  it(
    'whatever happens, places are counted exactly, and each waiter has one turn at the most',
    { timeout: timeLimit(60_000) },
    async () => {
      const { open, time, waiting } = await openFixture();
      const stores = [await open(), await open()] as const;
      let round = 0;
      let turnsInAll = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
          const run = ++round;
          const { revision } = await stores[0].head();
          const tickets = new Map<string, bigint>();
          const told: LockEvent[] = [];
          for (const { commands, instance, passMs, isPruned, isFollowed } of steps) {
            time.advance(passMs);
            await stores[instance].keepAlive(`${instance}`, time.wall + 500);
            const group = commands.map((make) => make(run, `${instance}`, tickets));
            const { outcomes, events } = await stores[instance].commit(group);
            told.push(...events);
            if (isFollowed) await stores[1 - instance]?.readLog(revision, 10_000, everything);
            for (const [n, outcome] of outcomes.entries()) {
              const command = group[n] as Command;
              if (outcome.kind === 'queued' && 'wait' in command) tickets.set(command.wait?.id ?? '', outcome.ticket);
            }
            if (isPruned) await stores[instance].prune({ eventAgeMs: 1e12, eventRows: 1_000_000, expiredLockAgeMs: 1e12 });
            const { counted, present } = await waiting();
            expect(counted).toBe(present);
          }
          const { events } = await stores[0].readLog(revision, 10_000, everything);
          expect(events).toEqual(told);
          const turns = events.flatMap(({ waiterId, resource }) => (waiterId === null ? [] : [`${waiterId} ${resource}`]));
          turnsInAll += turns.length;
          expect(new Set(turns).size).toBe(turns.length);
          for (const turn of turns) expect(tickets.has(turn.slice(0, turn.indexOf(' '))), turn).toBe(true);
        }),
        { numRuns: rounds(1_000, 30) },
      );
      expect(turnsInAll).toBeGreaterThan(0);
    },
  );
}

async function untilHeld(store: LockStore, resource: string, owner: string): Promise<void> {
  await expect
    .poll(async () => store.readLocks({ resource, prefix: null, owner }, null, 1, await store.now()), { interval: 1 })
    .toHaveLength(1);
}

type MakeCommand = (run: number, instance: string, tickets: ReadonlyMap<string, bigint>) => Command;

let calls = 0;
const name = fc.constantFrom('x', 'y', 'z');
const names = fc.subarray(['x', 'y', 'z'], { minLength: 1 });
const owner = fc.constantFrom('a', 'b', 'c', 'd');
const waiting = fc.record({
  ttlMs: fc.constantFrom(200, 100_000),
  requestId: fc.option(fc.constantFrom('p', 'q')),
  waitMs: fc.constantFrom(300, 100_000),
  detectDeadlock: fc.boolean(),
});

const command: fc.Arbitrary<MakeCommand> = fc.oneof(
  fc.tuple(name, owner, waiting).map(
    ([resource, who, rest]): MakeCommand =>
      (run, instance) =>
        wait(`${run}:${resource}`, who, { ...rest, instance, id: `c${++calls}` }),
  ),
  fc.tuple(names, owner, waiting).map(([resources, who, rest]): MakeCommand => (run, instance) => {
    const all = resources.map((resource) => `${run}:${resource}`);
    return waitForAll(all, who, { ...rest, instance, id: `c${++calls}` });
  }),
  fc.tuple(name, owner).map(
    ([resource, who]): MakeCommand =>
      (run) =>
        acquire(`${run}:${resource}`, who, { ttlMs: 300 }),
  ),
  fc.tuple(name, owner).map(
    ([resource, who]): MakeCommand =>
      (run) =>
        release(`${run}:${resource}`, who),
  ),
  fc.tuple(names, owner).map(([resources, who]): MakeCommand => (run) => {
    return {
      kind: 'release-all',
      owner: who,
      locks: resources.map((resource) => ({ resource: `${run}:${resource}`, fencingToken: null })),
    };
  }),
  name.map((resource): MakeCommand => (run) => ({ kind: 'expire', resource: `${run}:${resource}` })),
  fc.tuple(fc.nat(), names).map(([which, resources]): MakeCommand => (run, _, tickets) => {
    const [id = 'nobody', ticket = 1n] = [...tickets][which % Math.max(1, tickets.size)] ?? [];
    return leave(id, ticket, ...resources.map((resource) => `${run}:${resource}`));
  }),
);

const step = fc.record({
  commands: fc.array(command, { minLength: 1, maxLength: 5 }),
  instance: fc.constantFrom(0 as const, 1 as const),
  passMs: fc.constantFrom(0, 0, 10, 250, 1000, 61_000),
  isPruned: fc.boolean(),
  isFollowed: fc.boolean(),
});
