import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { acquire } from '../../support/commands.js';
import { holdWriteLock } from '../../support/database-faults.js';
import { runSql } from '../../support/sql.js';
import { answerTo } from './answers.js';
import { onlyMessageBytes } from './messages.js';
import { HOLDS_THE_LOCK, pidsOf, untilThereIs, WAITS_FOR_THE_LOCK } from './sessions.js';
import { acquisitionsOf, logOf, openQuietStore, openStoreBehindProxy } from './store.js';

const TTL_MS = 60_000;
/** From the decision to the moment at which it is stored, at the most; then it is made anew. */
const MAX_AGE_MS = 100;
/** Longer than that, and than all that was sent takes to be where it can get. */
const FROZEN_MS = MAX_AGE_MS + 100;
/** Far less than anybody would wait for one that is frozen, also on a machine that has other things to do. */
const AT_ONCE_MS = 700;

const JOB = acquire('job', 'frozen', { ttlMs: TTL_MS });
const MESSAGE = onlyMessageBytes(JOB);

/** After how many bytes the message of a group stops. */
const MOMENTS: Readonly<Record<string, number>> = {
  'before it leaves': 0,
  'after its first byte': 1,
  'half-way': Math.floor(MESSAGE / 2),
  'just before it is complete': MESSAGE - 20,
};

/** An instance that knows enough, whose way to the database then freezes, and another one on the same database. */
async function freeze(afterBytes: number) {
  const { store, proxy, databaseUrl } = await openStoreBehindProxy();
  const other = await openQuietStore(databaseUrl);
  await answerTo(other, acquire('1', 'other'));
  await answerTo(store, acquire('2', 'frozen'));
  proxy.stall({ direction: 'toServer', afterBytes });
  const own = store.commit([JOB]);
  await sleep(FROZEN_MS);
  return { store, proxy, other, databaseUrl, own };
}

async function clockOf(databaseUrl: string): Promise<number> {
  const [row] = await runSql(databaseUrl, 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now');
  return Number(row?.['now']);
}

describe.each(Object.entries(MOMENTS))('an instance that freezes with its message %s', (_, afterBytes) => {
  test('keeps nobody waiting, and is told what the others did when it wakes up', async () => {
    const { store, proxy, other, databaseUrl, own } = await freeze(afterBytes);
    expect(await pidsOf(databaseUrl, HOLDS_THE_LOCK)).toEqual([]);
    const theirs = await answerTo(other, acquire('job', 'other'));
    expect(theirs.answer).toBe('acquired');
    expect(theirs.afterMs).toBeLessThan(AT_ONCE_MS);
    proxy.pass();
    expect((await own).outcomes).toMatchObject([{ kind: 'conflict', reason: 'HELD_BY_ANOTHER', current: { owner: 'other' } }]);
    expect((await answerTo(store, acquire('next', 'frozen'))).answer).toBe('acquired');
    expect(await acquisitionsOf(other)).toEqual(['1 other', '2 frozen', 'job other', 'next frozen']);
  });

  test('decides anew when it wakes up, so that the lease is as long as it was asked for', async () => {
    const { proxy, other, databaseUrl, own } = await freeze(afterBytes);
    const passedAt = await clockOf(databaseUrl);
    proxy.pass();
    const { events } = await own;
    expect(events).toMatchObject([{ type: 'ACQUIRED', resource: 'job', revision: 3n }]);
    expect(events[0]!.at).toBeGreaterThanOrEqual(passedAt);
    expect(events[0]!.expiresAt - events[0]!.at).toBe(TTL_MS);
    expect((await logOf(other)).slice(2)).toEqual(events);
  });
});

test('a message that waits for the lock for longer than a decision may be old is decided anew, once it has the lock', async () => {
  const { store, databaseUrl } = await openStoreBehindProxy();
  await answerTo(store, acquire('before', 'A'));
  const free = await holdWriteLock(databaseUrl);
  const own = store.commit([JOB]);
  await untilThereIs(databaseUrl, WAITS_FOR_THE_LOCK);
  await sleep(FROZEN_MS);
  await untilThereIs(databaseUrl, WAITS_FOR_THE_LOCK);
  const freedAt = await clockOf(databaseUrl);
  await free();
  const { events } = await own;
  expect(events).toMatchObject([{ type: 'ACQUIRED', resource: 'job', revision: 2n }]);
  expect(events[0]!.at).toBeGreaterThanOrEqual(freedAt);
  expect(events[0]!.expiresAt - events[0]!.at).toBe(TTL_MS);
  expect((await logOf(store)).slice(1)).toEqual(events);
});
