import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AcquireCommand, Command } from '../../../src/locks/commands.js';
import type { LockEvent } from '../../../src/locks/events.js';
import type { LockStore } from '../../../src/store/lock-store.js';
import { LOCK_COLUMNS, toLock, type LockRow } from '../../../src/store/rows.js';
import { acquire, release, renew } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { isSoak, rounds, timeLimit } from '../../support/rounds.js';
import { runSql } from '../../support/sql.js';
import { expectImpliedByLog, type Witnessed } from './implied-by-log.js';
import { openQuietStore } from './store.js';

/** What a shorter script that still fails may take to be found, too. */
const TIME_MS = isSoak ? 600_000 : 12_000;

/** A command whose token is not a number yet: that of the so many last acquisition of its lock; null: none. */
interface ScriptedCommand {
  readonly kind: 'acquire' | 'renew' | 'release' | 'expire';
  /** Two of the names are the store's own, as long as its callers come back to it. */
  readonly name: 'own:1' | 'own:2' | 'shared';
  readonly owner: string;
  readonly token: number | null;
  readonly rest: Pick<AcquireCommand, 'ttlMs' | 'requestId' | 'reacquire'>;
}

/** What happens at once: a group on one store, or on both. */
interface Step {
  readonly groups: readonly { readonly store: number; readonly commands: readonly ScriptedCommand[] }[];
  readonly pauseMs: number;
}

const command: fc.Arbitrary<ScriptedCommand> = fc.record({
  kind: fc.constantFrom('acquire' as const, 'acquire' as const, 'renew' as const, 'release' as const, 'expire' as const),
  name: fc.constantFrom('own:1' as const, 'own:1' as const, 'own:2' as const, 'own:2' as const, 'shared' as const),
  owner: fc.constantFrom('anna', 'anna', 'ben'),
  token: fc.constantFrom(null, null, 0, 0, 1),
  rest: fc.record({
    // At times it expires between two steps.
    ttlMs: fc.oneof(fc.constant(30_000), fc.integer({ min: 1, max: 30 })),
    requestId: fc.constantFrom(null, null, 'r1', 'r2'),
    reacquire: fc.boolean(),
  }),
});

const group = fc.record({ store: fc.constantFrom(0, 1), commands: fc.array(command, { minLength: 1, maxLength: 4 }) });

const step: fc.Arbitrary<Step> = fc.record({
  groups: fc.uniqueArray(group, { minLength: 1, maxLength: 2, selector: ({ store }) => store }),
  pauseMs: fc.constantFrom(0, 0, 0, 10),
});

const script = fc.array(step, { minLength: 5, maxLength: 30, size: 'max' });

function resolve({ kind, name, owner, token, rest }: ScriptedCommand, prefix: string, log: readonly LockEvent[]): Command {
  const resource = prefix + name;
  const acquisitions = log.filter((event) => event.type === 'ACQUIRED' && event.resource === resource);
  const fencingToken = token === null ? null : (acquisitions.at(-1 - token)?.fencingToken ?? 999_999n);
  if (kind === 'acquire') return acquire(resource, owner, rest);
  if (kind === 'renew') return renew(resource, owner, { fencingToken });
  return kind === 'release' ? release(resource, owner, fencingToken) : { kind, resource };
}

/** Plays the script on the stores; resolves to what each group came to. */
async function play(steps: readonly Step[], stores: readonly LockStore[], prefix: string, before: bigint): Promise<Witnessed[]> {
  const witnessed: Witnessed[] = [];
  const known: LockEvent[] = [];
  let after = before;
  for (const { groups, pauseMs } of steps) {
    const committing = groups.map(async ({ store, commands: scripted }) => {
      const commands = scripted.map((each) => resolve(each, each.name === 'shared' ? prefix : `${prefix}${store}:`, known));
      const begunAt = Date.now();
      const committed = await (stores[store] as LockStore).commit(commands);
      return { commands, committed, begunAt, endedAt: Date.now() + 1 };
    });
    const committed = await Promise.all(committing);
    known.push(...committed.flatMap((each) => each.committed.events));
    const upTo = after + BigInt(committed.reduce((sum, each) => sum + each.committed.events.length, 0));
    witnessed.push(...committed.map((each) => ({ ...each, after, upTo })));
    after = upTo;
    await sleep(pauseMs);
  }
  return witnessed;
}

test(
  'any groups of two instances, one after the other or at once, are told what the log implies',
  { timeout: timeLimit(TIME_MS + 30_000) },
  async () => {
    const databaseUrl = await createDatabase();
    const stores = [await openQuietStore(databaseUrl), await openQuietStore(databaseUrl)];
    const [reader] = stores as [LockStore];
    let runs = 0;

    await fc.assert(
      fc.asyncProperty(script, async (steps) => {
        const prefix = `run:${runs++}/`;
        const { revision: before } = await reader.head();
        const witnessed = await play(steps, stores, prefix, before);
        const { events: log } = await reader.readLog(before, 10_000, { resource: null, prefix, owner: null });
        const expectedRows = expectImpliedByLog(log, before, witnessed);
        const stored = await runSql(
          databaseUrl,
          `SELECT ${LOCK_COLUMNS} FROM distributed_locks WHERE starts_with(resource, $1) ORDER BY resource`,
          [prefix],
        );
        const rows = stored.map((row) => toLock(row as unknown as LockRow));
        expect(new Map(rows.map((row) => [row.resource, row]))).toEqual(expectedRows);
        const acquired = log.filter(({ type }) => type === 'ACQUIRED');
        expect(acquired.map(({ fencingToken }) => fencingToken)).toEqual(acquired.map(({ revision }) => revision));
        for (const { resource } of rows) {
          const times = log.filter((event) => event.resource === resource).map(({ at }) => at);
          expect(times).toEqual([...times].sort((one, other) => one - other));
        }
      }),
      { numRuns: rounds(1_000, 100), plugins: [fc.interruptAfterTimeLimit(TIME_MS)] },
    );
    expect(runs).toBeGreaterThan(5);
  },
);
