import { Prisma } from '../generated/sqlite/client.js';
import type { PrismaReader } from '../prisma-clients.js';
import { accessFor, admittedConditions, LOCK_RECORD } from './lock-access.js';
import type { ListFilter } from './lock-conditions.js';
import type { Bound, Range, ReadRows } from './range.js';
import type { LockRecord } from './records.js';

/**
 * The id of a row as text: it has 64 bits, and Prisma's Int has 32. Under a name of its own: ORDER BY would take the text for
 * the column of that name.
 */
export type KeyedLockRecord = LockRecord & { readonly key: string };

export interface ExpiryPlace {
  readonly expiresAt: bigint;
  /** Settles the order of locks that expire together, because the index by expiry goes on with it. */
  readonly id: bigint;
}

/** Reads the locks that are held at `now`, those that expire soonest first. */
export async function readLocksByExpiry(
  prisma: PrismaReader,
  filter: ListFilter,
  now: number,
): Promise<ReadRows<KeyedLockRecord, ExpiryPlace>> {
  const access = await accessFor(prisma, filter);
  const admitted = [access.held, ...admittedConditions(filter, access)];
  return (range, limit, backwards) =>
    prisma.$queryRaw<KeyedLockRecord[]>`/* locks by expiry */
      SELECT CAST(id AS TEXT) AS "key", ${LOCK_RECORD}
        FROM distributed_locks
       WHERE ${Prisma.join([...admitted, ...rangeConditions(range, now)], ' AND ')}
       ORDER BY ${backwards ? Prisma.sql`expires_at DESC, id DESC` : Prisma.sql`expires_at, id`}
       LIMIT ${limit}`;
}

/**
 * One plain bound on each side, at which the database begins and ends its walk through the index; and apart from that, of the
 * rows that share the bound's moment, those beyond it.
 */
function rangeConditions({ start, end }: Range<ExpiryPlace>, now: number): Prisma.Sql[] {
  const held = BigInt(now) + 1n;
  const from = start !== null && start.place.expiresAt > held ? start.place.expiresAt : held;
  return [
    Prisma.sql`expires_at >= ${from}`,
    ...(start === null ? [] : [without(start, start.inclusive ? Prisma.sql`id <` : Prisma.sql`id <=`)]),
    ...(end === null ? [] : [Prisma.sql`expires_at <= ${end.place.expiresAt}`]),
    ...(end === null ? [] : [without(end, end.inclusive ? Prisma.sql`id >` : Prisma.sql`id >=`)]),
  ];
}

function without({ place: { expiresAt, id } }: Bound<ExpiryPlace>, beyond: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`NOT (expires_at = ${expiresAt} AND ${beyond} ${id})`;
}
