import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readPage, readPageArgs, writeCursor, type PageArgs, type PageOrder } from '../../src/graphql/pagination.js';
import type { Bound, ReadRows } from '../../src/store/reads/range.js';

const ascending: PageOrder<number, number> = {
  name: 'NUMBER',
  placeOf: (row) => row,
  toText: (place) => [String(place)],
  fromText: ([text]) => (typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : null),
};

function readingFrom(rows: readonly number[]): ReadRows<number, number> {
  const isAfter = (row: number, bound: Bound<number> | null) =>
    bound === null || row > bound.place || (bound.inclusive && row === bound.place);
  const isBefore = (row: number, bound: Bound<number> | null) =>
    bound === null || row < bound.place || (bound.inclusive && row === bound.place);
  return ({ start, end }, limit, backwards) => {
    const within = rows.filter((row) => isAfter(row, start) && isBefore(row, end));
    return Promise.resolve((backwards ? within.reverse() : within).slice(0, limit));
  };
}

async function page(rows: readonly number[], args: PageArgs) {
  const { edges, pageInfo } = await readPage(readPageArgs(args, ascending), ascending, readingFrom(rows));
  return { nodes: edges.map(({ node }) => node), ...pageInfo };
}

const cursor = (place: number) => writeCursor(ascending, place);

test('a page forwards begins after its cursor and tells what is on either side', async () => {
  expect(await page([1, 2, 3, 4, 5], { first: 2, after: cursor(2) })).toEqual({
    nodes: [3, 4],
    hasNextPage: true,
    hasPreviousPage: true,
    startCursor: cursor(3),
    endCursor: cursor(4),
  });
});

test('a page backwards ends before its cursor, in the order of the list', async () => {
  expect(await page([1, 2, 3, 4, 5], { last: 2, before: cursor(4) })).toMatchObject({
    nodes: [2, 3],
    hasNextPage: true,
    hasPreviousPage: true,
  });
});

test('a page goes on although the row of its cursor, and all before it, are gone', async () => {
  expect(await page([4, 5], { first: 1, after: cursor(3) })).toMatchObject({
    nodes: [4],
    hasNextPage: true,
    hasPreviousPage: false,
  });
});

test('an empty page has no cursors and still tells what is on either side', async () => {
  expect(await page([1], { first: 1, after: cursor(1) })).toEqual({
    nodes: [],
    hasNextPage: false,
    hasPreviousPage: true,
    startCursor: null,
    endCursor: null,
  });
});

test('with no number, a page before a cursor is the one next to it', async () => {
  const rows = Array.from({ length: 120 }, (_, n) => n);
  expect((await page(rows, { before: cursor(100) })).nodes).toEqual(rows.slice(50, 100));
});

test('any page is that of the list, whatever its arguments', async () => {
  const place = fc.option(fc.integer({ min: 0, max: 12 }));
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 0, max: 12 })),
      fc.integer({ min: 1, max: 5 }),
      fc.boolean(),
      place,
      place,
      async (unsorted, size, backwards, after, before) => {
        const rows = unsorted.sort((a, b) => a - b);
        const range = rows.filter((row) => (after === null || row > after) && (before === null || row < before));
        const expected = backwards ? range.slice(-size) : range.slice(0, size);
        const args = {
          [backwards ? 'last' : 'first']: size,
          after: after === null ? null : cursor(after),
          before: before === null ? null : cursor(before),
        };
        const { nodes, hasNextPage, hasPreviousPage } = await page(rows, args);
        expect(nodes).toEqual(expected);
        if (expected.length === 0) return;
        expect(hasNextPage).toBe(rows.some((row) => row > (expected.at(-1) as number)));
        expect(hasPreviousPage).toBe(rows.some((row) => row < (expected[0] as number)));
      },
    ),
  );
});

test.each<[string, PageArgs, string]>([
  ['first: 0', { first: 0 }, 'first'],
  ['first: -1', { first: -1 }, 'first'],
  ['first: 501', { first: 501 }, 'first'],
  ['last: 0', { last: 0 }, 'last'],
  ['last: 501', { last: 501 }, 'last'],
  ['first together with last', { first: 1, last: 1 }, 'last'],
  ['an empty cursor', { after: '' }, 'after'],
  ['a cursor that is none', { after: 'nonsense' }, 'after'],
  ['a cursor of another order', { before: writeCursor({ ...ascending, name: 'OTHER' }, 1) }, 'before'],
  ['a cursor with something behind it', { before: `${cursor(1)}!` }, 'before'],
])('%s is refused, naming the argument', (_, args, argument) => {
  expect(() => readPageArgs(args, ascending)).toThrow(
    expect.objectContaining({ extensions: { code: 'BAD_USER_INPUT', argument } }),
  );
});

test('null counts as left out', () => {
  expect(readPageArgs({ first: null, last: null, after: null, before: null }, ascending)).toEqual({
    size: 50,
    backwards: false,
    after: null,
    before: null,
  });
});
