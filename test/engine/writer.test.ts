import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/store/lock-store.js';
import { acquire, release } from '../support/commands.js';
import { brief, startEngine, take, watchRequest } from '../support/engine.js';

it('commands that arrive together are committed together, and answered in their order', async () => {
  const { engine, observer } = await startEngine();
  const outcomes = await Promise.all(Array.from({ length: 100 }, (_, i) => engine.submit(acquire(`r:${i}`, 'o'))));
  expect(observer.groups).toEqual([100]);
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
  const results = await Promise.allSettled(
    Array.from({ length: 100_010 }, () => engine.submit({ kind: 'expire', resource: 'nothing' })),
  );
  const refused = results.filter((result) => result.status === 'rejected');
  expect(refused.length).toBe(10);
  expect(refused[0]?.reason).toMatchObject({ name: 'StoreUnavailable', applied: false });
});

it('a command that the database refuses fails alone: its neighbours are stored', async () => {
  const { engine, file, observer } = await startEngine();
  const db = new Database(file);
  db.exec(`CREATE TRIGGER refuse BEFORE INSERT ON lock_events WHEN NEW.resource = 'bad' BEGIN SELECT RAISE(ABORT, 'refused'); END`);
  db.close();
  const results = await Promise.allSettled(['a', 'bad', 'b'].map((name) => engine.submit(acquire(name, 'o'))));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect((results[1] as PromiseRejectedResult).reason).not.toBeInstanceOf(StoreUnavailable);
  expect(String(observer.errors[0])).toContain('refused');
  expect((await engine.head()).revision).toBe(2n);
});

it('a COMMIT that fails is answered as unknown, and the next command is stored as if nothing had happened', async () => {
  const { engine, file } = await startEngine();
  const db = new Database(file);
  // A deferred foreign key is looked at by COMMIT itself, which then fails with the transaction still open.
  db.exec(`CREATE TABLE parent (id INTEGER PRIMARY KEY);
    CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER orphan AFTER INSERT ON lock_events WHEN NEW.resource = 'bad' BEGIN INSERT INTO child VALUES (1); END`);
  const error = await engine.submit(acquire('bad', 'o')).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'StoreUnavailable', applied: null });
  await expect(engine.check()).resolves.toBeUndefined();
  const outcomes = await Promise.all(Array.from({ length: 100 }, (_, i) => engine.submit(acquire(`good:${i}`, 'o'))));
  expect(outcomes.every(({ kind }) => kind === 'acquired')).toBe(true);
  expect(db.prepare('SELECT count(*) FROM distributed_locks').pluck().get()).toBe(100);
  expect(db.prepare('SELECT max(revision) FROM lock_events').pluck().get()).toBe(100);
  db.close();
});

it('an engine whose last group was not taken can take work again only when the database can be written', async () => {
  const { engine, file } = await startEngine();
  const db = new Database(file);
  db.exec(`CREATE TABLE parent (id INTEGER PRIMARY KEY);
    CREATE TABLE child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER orphan AFTER UPDATE ON lock_clock BEGIN INSERT INTO child VALUES (1); END`);
  await expect(engine.check()).resolves.toBeUndefined();
  await expect(engine.submit(acquire('r', 'o'))).rejects.toMatchObject({ name: 'StoreUnavailable' });
  await expect(engine.check()).rejects.toMatchObject({ name: 'StoreUnavailable' });
  db.exec('DROP TRIGGER orphan');
  db.close();
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
