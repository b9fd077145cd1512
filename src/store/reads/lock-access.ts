import { Prisma } from '../generated/sqlite/client.js';
import type { PrismaReader } from '../prisma-clients.js';
import { admittedBy, admittedNames, ALL_NAMES, heldAt, type ListFilter } from './lock-conditions.js';
import type { Range } from './range.js';

/** As many rows as can be looked at one by one for one answer: about 10 ms. */
export const FEW_ROWS = 5000;

/** How a query is kept to one index, on either database. */
export interface Access {
  /** Held locks are not recorded as expired. The index by expiry begins with that. */
  readonly held: Prisma.Sql;
  readonly resource: Prisma.Sql;
  readonly owner: Prisma.Sql;
}

export const BY_NAME: Access = {
  held: Prisma.sql`COALESCE(expiry_recorded, true) = false`,
  resource: Prisma.sql`resource`,
  owner: Prisma.sql`owner`,
};

/** No index is of an expression. */
export const BY_EXPIRY: Access = {
  held: Prisma.sql`expiry_recorded = false`,
  resource: Prisma.sql`(resource || '')`,
  owner: Prisma.sql`(owner || '')`,
};

/** The columns of a LockRecord. */
export const LOCK_RECORD = Prisma.sql`
  resource, owner, fencing_token AS "fencingToken", revision, acquired_at AS "acquiredAt", expires_at AS "expiresAt", metadata`;

/**
 * How to read what the filter admits where the order doesn't ask for the names: few rows from the index of names or owners,
 * and for any more the index by expiry is walked. Each is slow where the other is fast.
 */
export async function accessFor(prisma: PrismaReader, filter: ListFilter): Promise<Access> {
  return isNarrow(filter) && (await admitsFew(prisma, filter)) ? BY_NAME : BY_EXPIRY;
}

function isNarrow({ prefix, owner }: ListFilter): boolean {
  return prefix !== null || owner !== null;
}

async function admitsFew(prisma: PrismaReader, filter: ListFilter): Promise<boolean> {
  return (await nameAfter(prisma, filter, ALL_NAMES, FEW_ROWS, false)) === null;
}

/** The name that follows the first so many rows, held or not, of what the filter admits in the range; null where no more follow. */
export async function nameAfter(
  prisma: PrismaReader,
  filter: ListFilter,
  range: Range<string>,
  rows: number,
  backwards: boolean,
): Promise<string | null> {
  const [next] = await prisma.distributedLock.findMany({
    where: admittedBy(filter, range),
    select: { resource: true },
    orderBy: { resource: backwards ? 'desc' : 'asc' },
    skip: rows,
    take: 1,
  });
  return next?.resource ?? null;
}

/** Whether no more than so many locks are held, whatever their names; the expired rows that are kept cost nothing. */
export async function areFewHeld(prisma: PrismaReader, now: number, few: number = FEW_ROWS): Promise<boolean> {
  const more = await prisma.distributedLock.findMany({
    where: { ...heldAt(now), expiryRecorded: false },
    select: { expiresAt: true },
    orderBy: { expiresAt: 'asc' },
    skip: few,
    take: 1,
  });
  return more.length === 0;
}

/** What the filter and the range ask of a row, held or not. */
export function admittedConditions(filter: ListFilter, access: Access, range: Range<string> = ALL_NAMES): Prisma.Sql[] {
  const { start, end } = admittedNames(filter, range);
  return [
    ...(start === null ? [] : [Prisma.sql`${access.resource} ${start.inclusive ? Prisma.sql`>=` : Prisma.sql`>`} ${start.place}`]),
    ...(end === null ? [] : [Prisma.sql`${access.resource} ${end.inclusive ? Prisma.sql`<=` : Prisma.sql`<`} ${end.place}`]),
    ...(filter.owner === null ? [] : [Prisma.sql`${access.owner} = ${filter.owner}`]),
  ];
}
