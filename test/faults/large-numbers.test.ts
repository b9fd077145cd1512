import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { createDatabase } from '../support/database.js';
import { runSql } from '../support/sql.js';
import { tokenOf } from './lock-api.js';
import { Session } from './session.js';

/** A service whose log has come that far, with what it told about five more changes. */
async function goOnFrom(revision: bigint) {
  const databaseUrl = await createDatabase();
  await runSql(databaseUrl, 'UPDATE lock_clock SET revision = $1, oldest_revision = $1', [revision]);
  const { url } = await startTestApp({ env: { DATABASE_URL: databaseUrl } });
  const session = await Session.open(url);
  const { api } = session;
  const watch = await session.watch();
  const tokens: string[] = [];
  for (const resource of ['a', 'b', 'c']) tokens.push(tokenOf(await api.acquire(resource, 'A')));
  const renewed = await api.renew('a', 'A', { fencingToken: tokens[0] ?? null });
  const released = await api.release('b', 'A', tokens[1]);
  const expected = Array.from({ length: 5 }, (_, n) => String(revision + BigInt(n + 1)));
  await watch.reach(expected[4] ?? '');
  return { session, api, watch, tokens, renewed, released, expected };
}

describe.each([2_147_483_646n, 9_007_199_254_740_991n])('after revision %s', (start) => {
  test('tokens and revisions are exact and distinct in answers, lists, history and events', async () => {
    const { api, watch, tokens, renewed, released, expected } = await goOnFrom(start);
    const [a, b, c, d, e] = expected;
    expect(tokens).toEqual([a, b, c]);
    expect(renewed.lock).toMatchObject({ fencingToken: a, revision: d });
    expect(released).toMatchObject({ fencingToken: b, revision: e });
    expect((await api.locks()).map((lock) => [lock.fencingToken, lock.revision])).toEqual([
      [a, d],
      [c, c],
    ]);
    const inLog = [
      [a, a],
      [b, b],
      [c, c],
      [d, a],
      [e, b],
    ];
    expect((await api.events()).map((event) => [event.revision, event.fencingToken])).toEqual(inLog);
    expect(watch.events.map((event) => [event.revision, event.fencingToken])).toEqual(inLog);
    expect((await api.head()).revision).toBe(e);
  });

  test('the neighbour of a token is another token', async () => {
    const { api, tokens } = await goOnFrom(start);
    const [a = '', b = '', c = ''] = tokens;
    for (const wrong of [b, String(BigInt(c) - 1n), String(BigInt(c) + 1n)]) {
      expect(await api.release('c', 'A', wrong)).toMatchObject({ reason: 'STALE_TOKEN' });
      expect(await api.renew('c', 'A', { fencingToken: wrong })).toMatchObject({ reason: 'STALE_TOKEN' });
    }
    expect((await api.events({ fencingToken: a })).map(({ type }) => type)).toEqual(['ACQUIRED', 'RENEWED']);
    expect((await api.release('c', 'A', c)).__typename).toBe('LockReleased');
  });

  test('a watch that resumes after a revision begins with the very next one', async () => {
    const { session, expected } = await goOnFrom(start);
    for (const [index, after] of expected.slice(0, -1).entries()) {
      const resumed = await session.watch({ after });
      await resumed.reach(expected.at(-1) ?? '');
      expect(resumed.items.map(({ revision }) => revision)).toEqual(expected.slice(index + 1));
    }
  });
});
