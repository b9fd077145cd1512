import type { LockSelector } from '../store/lock-store.js';
import { Prisma } from '../store/generated/sqlite/client.js';
import type { PrismaReader } from '../store/prisma-clients.js';
import { fromDigits } from './inputs.js';
import type { LockRow } from './lock-row.js';
import { accessFor, admittedConditions } from './lock-access.js';
import type { Bound, PageOrder, Range, ReadRows } from './pagination.js';

/** The key of a row as text: it has 64 bits, and Prisma's Int has 32. */
type KeyedLockRow = LockRow & { readonly id: string };

interface ExpiryPlace {
  readonly expiresAt: bigint;
  /** Settles the order of locks that expire together, because the index by expiry goes on with it. */
  readonly id: bigint;
}

/** By expiry, soonest first. */
export const byExpiry: PageOrder<KeyedLockRow, ExpiryPlace> = {
  name: 'EXPIRES_AT',
  placeOf: ({ expiresAt, id }) => ({ expiresAt, id: BigInt(id) }),
  toText: ({ expiresAt, id }) => [String(expiresAt), String(id)],
  fromText: (text) => {
    const [expiresAt, id] = text.map(fromDigits);
    return expiresAt == null || id == null ? null : { expiresAt, id };
  },
};

/** Reads the locks that are held at `now`. */
export async function readLocksByExpiry(
  prisma: PrismaReader,
  selector: LockSelector,
  now: number,
): Promise<ReadRows<KeyedLockRow, ExpiryPlace>> {
  const access = await accessFor(prisma, selector);
  const admitted = [access.held, ...admittedConditions(selector, access)];
  return (range, limit, backwards) =>
    prisma.$queryRaw<KeyedLockRow[]>`/* locks by expiry */
      SELECT CAST(id AS TEXT) AS "id", resource, owner, fencing_token AS "fencingToken", revision,
             acquired_at AS "acquiredAt", expires_at AS "expiresAt", metadata
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
