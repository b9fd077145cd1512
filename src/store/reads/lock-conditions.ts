import { rangeOfPrefix } from '../../locks/names.js';
import type { Prisma } from '../generated/sqlite/client.js';
import type { LockSelector } from '../lock-store.js';
import type { Bound, Range } from './range.js';

/** Which locks a list shows; what is null does not narrow. */
export type ListFilter = Pick<LockSelector, 'prefix' | 'owner'>;

export const ALL_NAMES: Range<string> = { start: null, end: null };

/**
 * The condition for a row to be a lock: one that has expired may stay for long. It may have expired after `now` was asked for,
 * too: then its expiry is written on it, with a revision that no lock had. (Not `false`: that would be found in the index by
 * expiry, and whatever else is asked for sorted afterwards.)
 */
export function heldAt(now: number): { expiresAt: { gt: number }; expiryRecorded: { not: true } } {
  return { expiresAt: { gt: now }, expiryRecorded: { not: true } };
}

/** The rows that the filter admits, held or not, as far as they are in the range of names. */
export function admittedBy(filter: ListFilter, range: Range<string>): Prisma.DistributedLockWhereInput {
  const { start, end } = admittedNames(filter, range);
  return {
    resource: {
      ...(start === null ? {} : { [start.inclusive ? 'gte' : 'gt']: start.place }),
      ...(end === null ? {} : { [end.inclusive ? 'lte' : 'lt']: end.place }),
    },
    ...(filter.owner === null ? {} : { owner: filter.owner }),
  };
}

/**
 * What is in the range and begins with the prefix, as one bound on each side: given two, the database may begin its search
 * at the wider one.
 */
export function admittedNames({ prefix }: ListFilter, range: Range<string>): Range<string> {
  if (prefix === null) return range;
  const { from, before } = rangeOfPrefix(prefix);
  return {
    start: narrower(range.start, { place: from, inclusive: true }, 1),
    end: before === null ? range.end : narrower(range.end, { place: before, inclusive: false }, -1),
  };
}

function narrower(one: Bound<string> | null, other: Bound<string>, direction: 1 | -1): Bound<string> {
  if (one === null) return other;
  const order = compareNames(one.place, other.place) * direction;
  if (order === 0) return one.inclusive ? other : one;
  return order > 0 ? one : other;
}

/** Code point order, as the databases have it: that of the bytes of UTF-8, but not that of JavaScript's strings. */
function compareNames(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
