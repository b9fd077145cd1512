import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/store/lock-store.js';
import { acquire, release } from '../support/commands.js';
import { provider } from '../support/database.js';
import { failCommitsOf, failWrites, refuseEventsOf } from '../support/database-faults.js';
import { brief, startEngine, take, watchRequest } from '../support/engine.js';
import { runSql } from '../support/sql.js';

it('commands that arrive together are committed together, or the first of them ahead of the rest, and answered in their order', async () => {
  const { engine, observer } = await startEngine();
  const outcomes = await Promise.all(Array.from({ length: 100 }, (_, i) => engine.submit(acquire(`r:${i}`, 'o'))));
  expect(observer.groups).toEqual({ sqlite: [16, 84], postgresql: [100] }[provider]);
  expect(outcomes.map((outcome) => outcome.kind === 'acquired' && outcome.lock.fencingToken)).toEqual(
    Array.from({ length: 100 }, (_, i) => BigInt(i + 1)),
  );
});

it('200 callers of one free name, and 200 of one expired name: one lock each time, 199 refusals, one ACQUIRED', async () => {
  const { engine, time } = await startEngine();
  for (const round of [1, 2]) {
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, i) => engine.submit(acquire('r', `${round}:${i}`, { ttlMs: 1000 }))),
    );
    expect(outcomes.filter(({ kind }) => kind === 'acquired')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome.kind === 'conflict' && outcome.reason === 'HELD_BY_ANOTHER')).toHaveLength(199);
    time.advance(1000);
  }
  const watch = engine.watch(watchRequest({ after: 0n }));
  expect((await take(watch, 3)).map(brief)).toEqual(['ACQUIRED r 1', 'EXPIRED r 2', 'ACQUIRED r 3']);
  await watch.return?.();
});

it('more commands than can wait are refused at once, with nothing applied', async () => {
  const { engine } = await startEngine();
  const begunAtOnce = { sqlite: 16, postgresql: 0 }[provider];
  const results = await Promise.allSettled(
    Array.from({ length: begunAtOnce + 100_010 }, () => engine.submit({ kind: 'expire', resource: 'nothing' })),
  );
  const refused = results.filter((result) => result.status === 'rejected');
  expect(refused.length).toBe(10);
  expect(refused[0]?.reason).toMatchObject({ name: 'StoreUnavailable', applied: false });
});

it('a command that the database refuses fails alone: its neighbours are stored', async () => {
  const { engine, databaseUrl, observer } = await startEngine();
  await refuseEventsOf(databaseUrl, 'bad');
  const results = await Promise.allSettled(['a', 'bad', 'b'].map((name) => engine.submit(acquire(name, 'o'))));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect((results[1] as PromiseRejectedResult).reason).not.toBeInstanceOf(StoreUnavailable);
  expect(String(observer.errors[0])).toContain('refused');
  expect((await engine.head()).revision).toBe(2n);
});

/** PostgreSQL has undone what it could not commit, and says why; SQLite leaves its transaction open. */
const COMMIT_FAULT = {
  sqlite: { name: 'StoreUnavailable', applied: null },
  postgresql: { code: '23503', constraint: 'child_id_fkey' },
}[provider];

it('a COMMIT that fails is never answered as stored, and the next command is stored as if nothing had happened', async () => {
  const { engine, databaseUrl } = await startEngine();
  await failCommitsOf(databaseUrl, 'bad');
  await expect(engine.submit(acquire('bad', 'o'))).rejects.toMatchObject(COMMIT_FAULT);
  await expect(engine.check()).resolves.toBeUndefined();
  const outcomes = await Promise.all(Array.from({ length: 100 }, (_, i) => engine.submit(acquire(`good:${i}`, 'o'))));
  expect(outcomes.every(({ kind }) => kind === 'acquired')).toBe(true);
  expect(await runSql(databaseUrl, 'SELECT count(*) AS locks FROM distributed_locks')).toEqual([{ locks: 100n }]);
  expect(await runSql(databaseUrl, 'SELECT max(revision) AS newest FROM lock_events')).toEqual([{ newest: 100n }]);
});

it('an engine whose last group was not taken can take work again only when the database can be written', async () => {
  const { engine, databaseUrl } = await startEngine();
  const letWrite = await failWrites(databaseUrl);
  await expect(engine.check()).resolves.toBeUndefined();
  await expect(engine.submit(acquire('r', 'o'))).rejects.toMatchObject({ name: 'StoreUnavailable' });
  await expect(engine.check()).rejects.toMatchObject({ name: 'StoreUnavailable' });
  await letWrite();
  await expect(engine.check()).resolves.toBeUndefined();
  await expect(engine.submit(acquire('r', 'o'))).resolves.toMatchObject({ kind: 'acquired' });
});

it('an engine that is closing answers what it took, and refuses what comes after', async () => {
  const { engine } = await startEngine();
  const taken = engine.submit(acquire('r', 'o'));
  const closed = engine.close();
  await expect(taken).resolves.toMatchObject({ kind: 'acquired' });
  await closed;
  await expect(engine.submit(release('r', 'o'))).rejects.toMatchObject({ name: 'StoreUnavailable', applied: false });
});
