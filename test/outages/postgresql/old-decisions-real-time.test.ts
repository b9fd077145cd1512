import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { acquire } from '../../support/commands.js';
import { runSql } from '../../support/sql.js';
import { firstMessageBytes } from './messages.js';
import { HOLDS_THE_LOCK, untilThereIs } from './sessions.js';
import { acquisitionsOf, ASKING, openQuietStore, openStoreBehindProxy } from './store.js';

const TTL_MS = 60_000;
/** From the decision to the moment at which it is stored, at the most; then it is made anew. */
const MAX_AGE_MS = 500;

async function clockOf(databaseUrl: string): Promise<number> {
  const [row] = await runSql(databaseUrl, 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now');
  return Number(row?.['now']);
}

test('a decision that is held up on its way to the database is made anew, so that the lease is as long as it was asked for', async () => {
  const { store, proxy, databaseUrl } = await openStoreBehindProxy();
  await store.commit([acquire('before', 'A')]);
  const group = [acquire('job', 'A', { ttlMs: TTL_MS }), ASKING];
  proxy.stall({ direction: 'toServer', afterBytes: firstMessageBytes(...group) });
  const answer = store.commit(group);
  await untilThereIs(databaseUrl, HOLDS_THE_LOCK);
  await sleep(MAX_AGE_MS + 200);
  const passedAt = await clockOf(databaseUrl);
  proxy.pass();
  const { events } = await answer;
  expect(events).toMatchObject([{ type: 'ACQUIRED', resource: 'job' }]);
  expect(events[0]!.at).toBeGreaterThanOrEqual(passedAt);
  expect(events[0]!.expiresAt - events[0]!.at).toBe(TTL_MS);
});

test('a decision is stored in the end, however slow the way to the database is', async () => {
  const { store, proxy, databaseUrl } = await openStoreBehindProxy();
  await store.commit([acquire('before', 'A')]);
  proxy.delay(MAX_AGE_MS / 2 + 10);
  const { outcomes, events } = await store.commit([acquire('job', 'A', { ttlMs: TTL_MS })]);
  expect(outcomes.map(({ kind }) => kind)).toEqual(['acquired']);
  // The two tries before it left nothing.
  expect(await acquisitionsOf(await openQuietStore(databaseUrl))).toEqual(['before A', 'job A']);
  expect(events[0]!.expiresAt - (await clockOf(databaseUrl))).toBeGreaterThan(TTL_MS - 3 * MAX_AGE_MS);
});
