import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { ManualTime } from '../support/manual-time.js';
import { httpApi, lockOf, tokenOf, type LockApi } from './lock-api.js';

const HOUR_MS = 3_600_000;
/** As little of the past as can be configured. */
const KEEP_NOTHING = {
  EVENT_RETENTION_HOURS: '1',
  EVENT_RETENTION_ROWS: '1',
  EXPIRED_RETENTION_HOURS: '1',
  RETRY_WINDOW_MS: '1',
  MAX_TTL_MS: '60000',
};

test('tokens and revisions only rise, over releases, renewals, expiries, restarts and a log that is pruned to nothing', async () => {
  const time = new ManualTime();
  let app = await startTestApp({ time });
  const restart = async (env: Record<string, string> = {}): Promise<LockApi> => {
    await app.close();
    app = await startTestApp({ time, env: { ...env, DATABASE_URL: app.databaseUrl } });
    return httpApi(app.url);
  };
  let api = httpApi(app.url);
  const tokens = [tokenOf(await api.acquire('r', 'A'))];
  await api.release('r', 'A');

  const second = tokenOf(await api.acquire('r', 'B', { ttlMs: 10_000 }));
  tokens.push(second);
  for (let n = 0; n < 2; n++) expect(lockOf(await api.renew('r', 'B')).fencingToken).toBe(second);
  api = await restart();
  expect((await api.lock('r'))?.fencingToken).toBe(second);
  time.advance(10_000);

  tokens.push(tokenOf(await api.acquire('r', 'A')));
  await api.release('r', 'A');
  const before = await api.head();

  time.advance(2 * HOUR_MS);
  api = await restart(KEEP_NOTHING);
  await expect.poll(async () => (await api.head()).oldestRevision).toBe(before.revision);
  expect(await api.events()).toEqual([]);
  api = await restart(KEEP_NOTHING);
  expect(await api.head()).toMatchObject({ logId: before.logId, revision: before.revision });
  tokens.push(tokenOf(await api.acquire('r', 'B')));

  const numbers = tokens.map(BigInt);
  for (const [index, token] of numbers.entries()) expect(token).toBeGreaterThan(numbers[index - 1] ?? 0n);
  expect((await api.events()).map(({ revision }) => revision)).toEqual([String(BigInt(before.revision) + 1n)]);
});
