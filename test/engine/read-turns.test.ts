import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { ReadTurns } from '../../src/engine/read-turns.js';
import type { WatchItem } from '../../src/engine/watch.js';
import { acquire } from '../support/commands.js';
import { brief, startEngine, take, watchRequest } from '../support/engine.js';

/** Readers, of which each says by its name that its turn has come. */
function fixture() {
  const turns = new ReadTurns();
  const log: string[] = [];
  const ask = (name: string) => {
    const reader = { name };
    void turns.take(reader).then(() => log.push(name));
    return reader;
  };
  return { turns, log, ask };
}

test('readers have their turns one at a time, in the order in which they asked', async () => {
  const { turns, log, ask } = fixture();
  const [a, b] = [ask('a'), ask('b'), ask('c')];
  await nextTurn();
  expect(log).toEqual(['a']);
  turns.leave(a);
  await nextTurn();
  expect(log).toEqual(['a', 'b']);
  turns.leave(b);
  await nextTurn();
  expect(log).toEqual(['a', 'b', 'c']);
});

test('a reader whose turn it is gets it again at once, and takes it from nobody', async () => {
  const { turns, log } = fixture();
  const reader = {};
  await turns.take(reader);
  await turns.take(reader);
  turns.leave(reader);
  turns.leave(reader);
  await turns.take({});
  expect(log).toEqual([]);
});

test('a reader that leaves while it waits waits no more, and gets no turn', async () => {
  const { turns, log, ask } = fixture();
  const [a, b] = [ask('a'), ask('b'), ask('c')];
  turns.leave(b);
  await nextTurn();
  expect(log).toEqual(['a', 'b']);
  turns.leave(a);
  await nextTurn();
  expect(log).toEqual(['a', 'b', 'c']);
});

test('watches that share turns read a part of a snapshot only when the one before was taken', async () => {
  const { engine } = await startEngine();
  await Promise.all(Array.from({ length: 501 }, (_, n) => engine.submit(acquire(`r:${n}`, 'o'))));
  const turns = new ReadTurns();
  const taking = vi.spyOn(turns, 'take');
  const [first, second] = [engine.watch(watchRequest(), turns), engine.watch(watchRequest(), turns)];
  expect(await take(first, 1)).toMatchObject([{ part: 1 }]);
  let told: WatchItem | undefined;
  const waiting = second.next().then(({ value }) => (told = value));
  await vi.waitFor(() => expect(new Set(taking.mock.calls.map(([reader]) => reader)).size).toBe(2), 10_000);
  // More than a read takes.
  await engine.submit(acquire('s', 'o'));
  await nextTurn();
  expect(told).toBeUndefined();
  const goingOn = first.next();
  expect(await waiting).toMatchObject({ part: 1 });
  const last = second.next();
  expect((await goingOn).value).toMatchObject({ part: 2, complete: true });
  await first.return?.();
  expect((await last).value).toMatchObject({ part: 2, complete: true });
  await second.return?.();
});

test('a watch that ends passes its turn on, and one that ends while it waits for its turn ends at once', async () => {
  const { engine } = await startEngine();
  for (const name of ['a', 'b']) await engine.submit(acquire(name, 'o'));
  const turns = new ReadTurns();
  const [first, second, third] = [1, 2, 3].map(() => engine.watch(watchRequest({ after: 0n }), turns));
  expect((await take(first!, 1)).map(brief)).toEqual(['ACQUIRED a 1']);
  const [waiting, ending] = [take(third!, 2), second!.next()];
  await second!.return?.();
  expect(await ending).toEqual({ done: true, value: undefined });
  await first!.return?.();
  expect((await waiting).map(brief)).toEqual(['ACQUIRED a 1', 'ACQUIRED b 2']);
  await third!.return?.();
});
