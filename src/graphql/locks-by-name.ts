import { endOfPrefix } from '../locks/names.js';
import type { LockSelector } from '../store/lock-store.js';
import type { Prisma } from '../store/generated/sqlite/client.js';
import type { PrismaReader } from '../store/prisma-clients.js';
import type { LockRow } from './lock-row.js';
import type { Bound, PageOrder, Range, ReadRows } from './pagination.js';

/** By resource, in code point order. */
export const byName: PageOrder<LockRow, string> = {
  name: 'RESOURCE',
  placeOf: ({ resource }) => resource,
  toText: (resource) => [resource],
  fromText: ([resource]) => (typeof resource === 'string' ? resource : null),
};

/** Reads the locks that are held at `now`. */
export function readLocksByName(prisma: PrismaReader, selector: LockSelector, now: number): ReadRows<LockRow, string> {
  return (range, limit, backwards) =>
    prisma.distributedLock.findMany({
      where: { ...admittedBy(selector, range), expiresAt: { gt: now } },
      orderBy: { resource: backwards ? 'desc' : 'asc' },
      take: limit,
    });
}

/** The rows that the selector admits, held or not, as far as they are in the range of names. */
export function admittedBy(
  { resource, prefix, owner }: LockSelector,
  range: Range<string> = { start: null, end: null },
): Prisma.DistributedLockWhereInput {
  const names = resource !== null ? { equals: resource } : narrowed(prefix, range);
  return { resource: names, ...(owner === null ? {} : { owner }) };
}

/** One bound on each side: given two, the database may begin its search at the wider one. */
function narrowed(prefix: string | null, range: Range<string>): Prisma.StringFilter {
  const end = prefix === null ? null : endOfPrefix(prefix);
  const { start: from, end: to } = {
    start: narrower(range.start, prefix === null ? null : { place: prefix, inclusive: true }, 1),
    end: narrower(range.end, end === null ? null : { place: end, inclusive: false }, -1),
  };
  return {
    ...(from === null ? {} : { [from.inclusive ? 'gte' : 'gt']: from.place }),
    ...(to === null ? {} : { [to.inclusive ? 'lte' : 'lt']: to.place }),
  };
}

function narrower(one: Bound<string> | null, other: Bound<string> | null, direction: 1 | -1): Bound<string> | null {
  if (one === null || other === null) return one ?? other;
  const order = compareNames(one.place, other.place) * direction;
  if (order === 0) return one.inclusive ? other : one;
  return order > 0 ? one : other;
}

/** Code point order, as the databases have it: that of the bytes of UTF-8, but not that of JavaScript's strings. */
function compareNames(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
