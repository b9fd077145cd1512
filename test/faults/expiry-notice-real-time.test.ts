import { expect, test } from 'vitest';
import { createDatabase } from '../support/database.js';
import { startServerProcess } from '../support/server-process.js';
import { lockOf } from './lock-api.js';
import { Session } from './session.js';

/** From the expiry to the news of it, on a machine that has other work, too. */
const NOTICE_MS = 2_000;

test('a lock whose owner went away: an idle server tells the expiry within two seconds of it, once, as of its moment', async () => {
  const { url } = await startServerProcess({ DATABASE_URL: await createDatabase() });
  const [owner, watcher] = [await Session.open(url), await Session.open(url)];
  const watch = await watcher.watch({ filter: { resource: 'r' } });
  const { expiresAt, fencingToken } = lockOf(await owner.api.acquire('r', 'A', { ttlMs: 1_000 }));
  owner.cut();

  await watch.until(() => watch.events.some(({ type }) => type === 'EXPIRED'));
  expect(Date.now() - Date.parse(expiresAt)).toBeLessThan(NOTICE_MS);
  expect(watch.events.map(({ type, at, fencingToken: token }) => [type, at, token])).toEqual([
    ['ACQUIRED', expect.any(String), fencingToken],
    ['EXPIRED', expiresAt, fencingToken],
  ]);
  expect((await watcher.api.events()).map(({ type }) => type)).toEqual(['ACQUIRED', 'EXPIRED']);
});
