import { endOfPrefix } from '../locks/names.js';
import { Prisma } from '../store/generated/sqlite/client.js';
import type { LockSelector } from '../store/lock-store.js';
import type { PrismaReader } from '../store/prisma-clients.js';
import { admittedBy } from './locks-by-name.js';

/**
 * A selector that admits at most this many rows is answered from the index of names or owners; for any other the
 * index by expiry is walked. Each is slow where the other is fast.
 */
const FEW_ROWS = 5000;

/** How a query is kept to one index, on either database. */
export interface Access {
  /** Held locks are not recorded as expired: it changes nothing but that the index by expiry, which begins with it, can serve. */
  readonly held: Prisma.Sql;
  readonly resource: Prisma.Sql;
  readonly owner: Prisma.Sql;
}

export const BY_NAME: Access = { held: Prisma.sql`true`, resource: Prisma.sql`resource`, owner: Prisma.sql`owner` };

/** No index is of an expression. */
export const BY_EXPIRY: Access = {
  held: Prisma.sql`expiry_recorded = false`,
  resource: Prisma.sql`(resource || '')`,
  owner: Prisma.sql`(owner || '')`,
};

/** How to read what the selector admits by anything but the name. */
export async function accessFor(prisma: PrismaReader, selector: LockSelector): Promise<Access> {
  if (selector.resource === null && selector.owner === null && !selector.prefix) return BY_EXPIRY;
  return (await admitsFew(prisma, selector)) ? BY_NAME : BY_EXPIRY;
}

async function admitsFew(prisma: PrismaReader, selector: LockSelector): Promise<boolean> {
  const more = await prisma.distributedLock.findMany({
    where: admittedBy(selector),
    select: { resource: true },
    orderBy: { resource: 'asc' },
    skip: FEW_ROWS,
    take: 1,
  });
  return more.length === 0;
}

/** What the selector asks of a row, held or not. */
export function admittedConditions({ resource, prefix, owner }: LockSelector, access: Access): Prisma.Sql[] {
  const end = prefix === null ? null : endOfPrefix(prefix);
  return [
    ...(resource === null ? [] : [Prisma.sql`${access.resource} = ${resource}`]),
    ...(prefix ? [Prisma.sql`${access.resource} >= ${prefix}`] : []),
    ...(end === null ? [] : [Prisma.sql`${access.resource} < ${end}`]),
    ...(owner === null ? [] : [Prisma.sql`${access.owner} = ${owner}`]),
  ];
}
