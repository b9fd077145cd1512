import { Prisma } from '../generated/sqlite/client.js';
import type { PrismaReader } from '../prisma-clients.js';
import { admittedConditions, areFewHeld, BY_EXPIRY, LOCK_RECORD, nameAfter } from './lock-access.js';
import { admittedBy, heldAt, type ListFilter } from './lock-conditions.js';
import type { Range, ReadRows } from './range.js';
import type { LockRecord } from './records.js';

/** Rows that are looked at by name before another way is thought of: a few milliseconds. */
const WALK_ROWS = 1000;

/**
 * Where so few are held, sorting them all by name takes tens of milliseconds at the worst; to walk past expired rows takes
 * ten times that and more where hundreds of thousands are kept.
 */
const SORTED_AT_MOST = 20_000;

/**
 * Reads the locks that are held at `now`, in code point order of their names.
 *
 * 1. The next rows by name, as many as are asked for: where none of them has expired, they are the answer.
 * 2. What is held of the next {@link WALK_ROWS} rows: enough, unless expired rows, which are kept for a while, prevail there.
 * 3. All that is held from the index by expiry, sorted, if that is not too much.
 * 4. The index of names, past as many expired rows as there are.
 */
export function readLocksByName(prisma: PrismaReader, filter: ListFilter, now: number): ReadRows<LockRecord, string> {
  return async (range, limit, backwards) => {
    const next = await readRows(prisma, admittedBy(filter, range), limit, backwards);
    const held = next.filter(({ expiresAt, expiryRecorded }) => expiresAt > now && !expiryRecorded);
    if (held.length === next.length || next.length < limit) return held;

    const readHeld = (names: Range<string>) => readRows(prisma, { ...admittedBy(filter, names), ...heldAt(now) }, limit, backwards);
    const beyond = await nameAfter(prisma, filter, range, WALK_ROWS, backwards);
    if (beyond === null) return readHeld(range);
    const near = await readHeld(withEnd(range, beyond, backwards));
    if (near.length === limit) return near;
    return (await areFewHeld(prisma, now, SORTED_AT_MOST))
      ? sortHeld(prisma, filter, now, range, limit, backwards)
      : readHeld(range);
  };
}

function readRows(
  prisma: PrismaReader,
  where: Prisma.DistributedLockWhereInput,
  limit: number,
  backwards: boolean,
): Promise<(LockRecord & { readonly expiryRecorded: boolean })[]> {
  return prisma.distributedLock.findMany({ where, orderBy: { resource: backwards ? 'desc' : 'asc' }, take: limit });
}

/** The part of the range that is read before that name is reached. */
function withEnd(range: Range<string>, name: string, backwards: boolean): Range<string> {
  const bound = { place: name, inclusive: false };
  return backwards ? { ...range, start: bound } : { ...range, end: bound };
}

function sortHeld(
  prisma: PrismaReader,
  filter: ListFilter,
  now: number,
  range: Range<string>,
  limit: number,
  backwards: boolean,
): Promise<LockRecord[]> {
  const conditions = [BY_EXPIRY.held, Prisma.sql`expires_at > ${now}`, ...admittedConditions(filter, BY_EXPIRY, range)];
  return prisma.$queryRaw<LockRecord[]>`/* few held locks, by name */
    SELECT ${LOCK_RECORD}
      FROM distributed_locks
     WHERE ${Prisma.join(conditions, ' AND ')}
     ORDER BY ${BY_EXPIRY.resource} ${backwards ? Prisma.sql`DESC` : Prisma.sql`ASC`}
     LIMIT ${limit}`;
}
