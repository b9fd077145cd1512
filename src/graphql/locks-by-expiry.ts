import type { LockSelector } from '../store/lock-store.js';
import { Prisma } from '../store/generated/sqlite/client.js';
import { endOfPrefix } from '../locks/names.js';
import type { PrismaReader } from '../store/prisma-clients.js';
import { fromDigits } from './inputs.js';
import type { LockRow } from './lock-row.js';
import { admittedBy } from './locks-by-name.js';
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

/**
 * A selector that admits at most this many rows is answered from their own index and sorted; for any other the index by
 * expiry is walked until enough of its locks are admitted. Each is slow where the other is fast.
 */
const FEW_ROWS = 5000;

/** Reads the locks that are held at `now`. */
export async function readLocksByExpiry(
  prisma: PrismaReader,
  selector: LockSelector,
  now: number,
): Promise<ReadRows<KeyedLockRow, ExpiryPlace>> {
  // A held lock's expiry is never recorded: the condition changes nothing but the index that serves the query.
  const byIndexOfExpiry = (await admitsFew(prisma, selector)) ? Prisma.empty : Prisma.sql`expiry_recorded = false AND`;
  return (range, limit, backwards) =>
    prisma.$queryRaw<KeyedLockRow[]>`/* locks by expiry */
      SELECT CAST(id AS TEXT) AS "id", resource, owner, fencing_token AS "fencingToken", revision,
             acquired_at AS "acquiredAt", expires_at AS "expiresAt", metadata
        FROM distributed_locks
       WHERE ${byIndexOfExpiry} expires_at > ${now} ${admitted(selector)} ${within(range)}
       ORDER BY ${backwards ? Prisma.sql`expires_at DESC, id DESC` : Prisma.sql`expires_at, id`}
       LIMIT ${limit}`;
}

async function admitsFew(prisma: PrismaReader, selector: LockSelector): Promise<boolean> {
  if (selector.resource === null && selector.owner === null && !selector.prefix) return false;
  const more = await prisma.distributedLock.findMany({
    where: admittedBy(selector),
    select: { resource: true },
    orderBy: { resource: 'asc' },
    skip: FEW_ROWS,
    take: 1,
  });
  return more.length === 0;
}

function admitted({ resource, prefix, owner }: LockSelector): Prisma.Sql {
  const end = prefix === null ? null : endOfPrefix(prefix);
  return Prisma.join(
    [
      Prisma.empty,
      ...(resource === null ? [] : [Prisma.sql`AND resource = ${resource}`]),
      ...(prefix === null ? [] : [Prisma.sql`AND resource >= ${prefix}`]),
      ...(end === null ? [] : [Prisma.sql`AND resource < ${end}`]),
      ...(owner === null ? [] : [Prisma.sql`AND owner = ${owner}`]),
    ],
    ' ',
  );
}

function within({ start, end }: Range<ExpiryPlace>): Prisma.Sql {
  const from = start === null ? Prisma.empty : Prisma.sql`AND (expires_at, id) ${operator('>', start)} ${pair(start)}`;
  const to = end === null ? Prisma.empty : Prisma.sql`AND (expires_at, id) ${operator('<', end)} ${pair(end)}`;
  return Prisma.sql`${from} ${to}`;
}

function operator(strict: '>' | '<', { inclusive }: Bound<ExpiryPlace>): Prisma.Sql {
  return Prisma.raw(inclusive ? `${strict}=` : strict);
}

function pair({ place: { expiresAt, id } }: Bound<ExpiryPlace>): Prisma.Sql {
  return Prisma.sql`(${expiresAt}, ${id})`;
}
