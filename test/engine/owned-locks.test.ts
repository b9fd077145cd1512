import { expect, it } from 'vitest';
import { acquire, acquireAll, release } from '../support/commands.js';
import { startEngine } from '../support/engine.js';
import { historyOf, inLine, wait } from '../support/waiting.js';

const named = (resource: string, fencingToken: bigint | null = null) => ({ resource, fencingToken });
const all = (owner: string, upTo: bigint | null = null) => ({ owner, locks: null, upTo });

it('everything an owner holds is released, and nothing of others', async () => {
  const { engine, databaseUrl } = await startEngine();
  await engine.submit(acquireAll(['x', 'y'], 'a'));
  await engine.submit(acquire('z', 'b'));
  const { released, notHeld } = await engine.releaseAll(all('a'));
  expect(released).toMatchObject([
    { resource: 'x', fencingToken: 1n },
    { resource: 'y', fencingToken: 2n },
  ]);
  expect(notHeld).toEqual([]);
  expect(await historyOf(databaseUrl, 'z')).toEqual(['ACQUIRED b']);
});

it('more locks than one transaction takes are all released', async () => {
  const { engine } = await startEngine();
  await Promise.all(Array.from({ length: 2300 }, (_, n) => engine.submit(acquire(`r:${n}`, 'a'))));
  expect((await engine.releaseAll(all('a'))).released).toHaveLength(2300);
  expect((await engine.releaseAll(all('a'))).released).toHaveLength(0);
});

it('a late release of everything up to a token leaves what was acquired since', async () => {
  const { engine } = await startEngine();
  await engine.submit(acquireAll(['x', 'y'], 'a'));
  await engine.submit(acquire('x', 'a'));
  const { released } = await engine.releaseAll(all('a', 2n));
  expect(released.map(({ resource }) => resource)).toEqual(['y']);
});

it('of named locks those that are not held under that token are told, and not touched', async () => {
  const { engine, databaseUrl } = await startEngine();
  await engine.submit(acquireAll(['x', 'y'], 'a'));
  await engine.submit(acquire('z', 'b'));
  const locks = [named('x', 1n), named('y', 1n), named('z'), named('free')];
  const { released, notHeld } = await engine.releaseAll({ owner: 'a', locks, upTo: null });
  expect(released.map(({ resource }) => resource)).toEqual(['x']);
  expect(notHeld).toEqual(['y', 'z', 'free']);
  expect(await historyOf(databaseUrl, 'y')).toEqual(['ACQUIRED a']);
});

it('a release of named tokens that is repeated gets the same answer', async () => {
  const { engine } = await startEngine();
  await engine.submit(acquireAll(['x', 'y'], 'a'));
  const held = { owner: 'a', locks: [named('x', 1n), named('y', 2n)], upTo: null };
  const first = await engine.releaseAll(held);
  await engine.submit(acquire('x', 'a'));
  expect(await engine.releaseAll(held)).toEqual(first);
});

it('each lock that is released is handed on', async () => {
  const { engine, databaseUrl } = await startEngine();
  await engine.submit(acquireAll(['x', 'y'], 'a'));
  const waiting = ['x', 'y'].map((resource) => wait(engine, resource, 'b'));
  await inLine(databaseUrl, 2);
  await engine.releaseAll(all('a'));
  for (const outcome of await Promise.all(waiting)) expect(outcome).toMatchObject({ kind: 'acquired' });
});

it('everything an owner holds is renewed by the TTL of each', async () => {
  const { engine, time } = await startEngine();
  await engine.submit(acquire('x', 'a', { ttlMs: 1000 }));
  await engine.submit(acquire('y', 'a', { ttlMs: 5000 }));
  await engine.submit(acquire('z', 'b'));
  time.advance(900);
  expect(await engine.renewAll(all('a'), null)).toMatchObject({
    locks: [
      { resource: 'x', fencingToken: 1n, expiresAt: time.wall + 1000 },
      { resource: 'y', fencingToken: 2n, expiresAt: time.wall + 5000 },
    ],
    lost: [],
  });
});

it('of named locks those that are lost are told', async () => {
  const { engine, time } = await startEngine();
  await engine.submit(acquire('x', 'a', { ttlMs: 1000 }));
  await engine.submit(acquire('y', 'a', { ttlMs: 5000 }));
  await engine.submit(acquire('z', 'a'));
  await engine.submit(release('z', 'a'));
  time.advance(1000);
  const held = { owner: 'a', locks: [named('x', 1n), named('y', 2n), named('z', 3n)], upTo: null };
  const { locks, lost } = await engine.renewAll(held, 8000);
  expect(locks).toMatchObject([{ resource: 'y', expiresAt: time.wall + 8000 }]);
  expect(lost).toEqual(['x', 'z']);
});
