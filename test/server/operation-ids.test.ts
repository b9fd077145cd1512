import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OperationIds } from '../../src/server/operation-ids.js';

const subscribe = (id: string) => JSON.stringify({ id, type: 'subscribe', payload: { query: 'subscription { a }' } });
const complete = (id: string) => JSON.stringify({ id, type: 'complete' });

/** What was handed on, and a way to end the operation that was begun as the nth. */
function fixture() {
  const handled: string[] = [];
  const ends: (() => void)[] = [];
  const ids = new OperationIds((text) => {
    const { type, id } = JSON.parse(text) as { type: string; id: string };
    handled.push(`${type} ${id}`);
    if (type !== 'subscribe') return Promise.resolve();
    ids.begins(id);
    return new Promise((resolve) => ends.push(resolve));
  });
  const take = async (...texts: string[]) => {
    for (const text of texts) void ids.take(text);
    await nextTurn();
    return handled.splice(0);
  };
  const end = async (n: number) => {
    ends[n]?.();
    await nextTurn();
    return handled.splice(0);
  };
  return { ids, take, end };
}

test('an id that was completed waits, and keeps no other waiting, until its operation has ended', async () => {
  const { ids, take, end } = fixture();
  expect(await take(subscribe('1'), complete('1'), subscribe('1'))).toEqual(['subscribe 1', 'complete 1']);
  expect(await take(subscribe('2'), complete('2'))).toEqual(['subscribe 2', 'complete 2']);
  expect(ids.waiting).toBe(1);
  expect(await end(0)).toEqual(['subscribe 1']);
  expect(ids.waiting).toBe(0);
});

test('all that comes of an id meanwhile is handed on in its order, as far as it goes', async () => {
  const { take, end } = fixture();
  const messages = [subscribe('1'), complete('1'), subscribe('1'), complete('1'), subscribe('1')];
  expect(await take(...messages)).toEqual(['subscribe 1', 'complete 1']);
  expect(await end(0)).toEqual(['subscribe 1', 'complete 1']);
  expect(await end(1)).toEqual(['subscribe 1']);
});

test('an id that is used twice at once is handed on at once, and so is the completion of one that is not known', async () => {
  const { take } = fixture();
  expect(await take(subscribe('1'), subscribe('1'), complete('2'))).toEqual(['subscribe 1', 'subscribe 1', 'complete 2']);
});

test('an id whose operation has ended by itself is free', async () => {
  const { take, end } = fixture();
  await take(subscribe('1'));
  await end(0);
  expect(await take(complete('1'), subscribe('1'))).toEqual(['complete 1', 'subscribe 1']);
});

test('a message that only speaks of completion completes nothing', async () => {
  const { take } = fixture();
  const speaking = JSON.stringify({ id: '1', type: 'ping', payload: { word: 'complete' } });
  expect(await take(subscribe('1'), speaking, subscribe('1'))).toEqual(['subscribe 1', 'ping 1', 'subscribe 1']);
});
