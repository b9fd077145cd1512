import type { Range, ReadRows } from '../store/reads/range.js';
import { badUserInput } from './errors.js';

export const DEFAULT_PAGE_SIZE = 50;
export const MAX_PAGE_SIZE = 500;

/** The arguments of a connection. */
export interface PageArgs {
  readonly first?: number | null;
  readonly after?: string | null;
  readonly last?: number | null;
  readonly before?: string | null;
}

/** An order that no two rows share a place in. */
export interface PageOrder<Row, Place> {
  /** Stands in the cursors, so that a cursor of another order is refused. */
  readonly name: string;
  /** The values that the order goes by: a cursor holds them, not the row, which may be gone when its page is asked for. */
  placeOf(row: Row): Place;
  toText(place: Place): readonly string[];
  /** null: the text is of no place. */
  fromText(text: readonly unknown[]): Place | null;
}

/** A page that was asked for, its cursors read. */
export interface PageRequest<Place> {
  readonly size: number;
  /** From the end of the range, not from its start. The page is shown in the list's order all the same. */
  readonly backwards: boolean;
  readonly after: Place | null;
  readonly before: Place | null;
}

export interface Page<Row> {
  readonly edges: readonly { readonly cursor: string; readonly node: Row }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

/** @throws BAD_USER_INPUT where that many can't be asked for at once. */
export function atMostAPage(argument: string, count: number): void {
  if (count > MAX_PAGE_SIZE) throw badUserInput(argument, `${argument} must be at most ${MAX_PAGE_SIZE}`);
}

/** @throws BAD_USER_INPUT naming the argument. */
export function readPageArgs<Row, Place>(args: PageArgs, order: PageOrder<Row, Place>): PageRequest<Place> {
  const { first = null, last = null } = args;
  if (first !== null && last !== null) throw badUserInput('last', 'first and last exclude each other: give one of them');
  for (const [argument, count] of Object.entries({ first, last })) {
    if (count !== null && count < 1) throw badUserInput(argument, `${argument} must be from 1 to ${MAX_PAGE_SIZE}`);
    atMostAPage(argument, count ?? 0);
  }
  const after = readCursor('after', args.after, order);
  const before = readCursor('before', args.before, order);
  return {
    size: first ?? last ?? DEFAULT_PAGE_SIZE,
    // Without a number, the page is next to the one cursor that is given.
    backwards: last !== null || (first === null && after === null && before !== null),
    after,
    before,
  };
}

/** Reads a page, and whether there really is something on either side of it at that moment. */
export async function readPage<Row, Place>(
  { size, backwards, after, before }: PageRequest<Place>,
  order: PageOrder<Row, Place>,
  readRows: ReadRows<Row, Place>,
): Promise<Page<Row>> {
  const isAny = async (range: Range<Place>) => (await readRows(range, 1, false)).length > 0;
  const bound = (place: Place | null, inclusive: boolean) => (place === null ? null : { place, inclusive });

  // One more than the page tells whether the range goes on.
  const rows = await readRows({ start: bound(after, false), end: bound(before, false) }, size + 1, backwards);
  const goesOn = rows.length > size;
  const nodes = rows.slice(0, size);
  if (backwards) nodes.reverse();

  const edges = nodes.map((node) => ({ cursor: writeCursor(order, order.placeOf(node)), node }));
  return {
    edges,
    pageInfo: {
      hasNextPage: (goesOn && !backwards) || (before !== null && (await isAny({ start: bound(before, true), end: null }))),
      hasPreviousPage: (goesOn && backwards) || (after !== null && (await isAny({ start: null, end: bound(after, true) }))),
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

export function writeCursor<Row, Place>(order: PageOrder<Row, Place>, place: Place): string {
  return Buffer.from(JSON.stringify([order.name, ...order.toText(place)])).toString('base64url');
}

function readCursor<Row, Place>(
  argument: 'after' | 'before',
  cursor: string | null | undefined,
  order: PageOrder<Row, Place>,
): Place | null {
  if (cursor == null) return null;
  const [name, ...text] = parseCursor(cursor);
  const place = name === order.name ? order.fromText(text) : null;
  // Decoding skips what it doesn't know: only what encodes to the same text was a cursor.
  if (place !== null && writeCursor(order, place) === cursor) return place;
  throw badUserInput(argument, `${argument} must be a cursor that this list gave out in the same order`);
}

function parseCursor(cursor: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}
