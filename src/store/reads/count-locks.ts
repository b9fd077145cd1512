import { Prisma } from '../generated/sqlite/client.js';
import type { PrismaReader } from '../prisma-clients.js';
import { accessFor, admittedConditions, areFewHeld, BY_EXPIRY, BY_NAME, type Access } from './lock-access.js';
import { admittedBy, ALL_NAMES, heldAt, type ListFilter } from './lock-conditions.js';

/**
 * How many of the locks that the filter admits are held at `now`. Where its rows are few, or few locks are held at all, those
 * are looked at. Else it is its rows, less those that have expired: the first are counted in an index of names or owners
 * alone, and only of the others the rows have to be looked at.
 */
export async function countLocks(prisma: PrismaReader, filter: ListFilter, now: number): Promise<number> {
  const access = await accessFor(prisma, filter);
  if (access === BY_NAME) return prisma.distributedLock.count({ where: { ...admittedBy(filter, ALL_NAMES), ...heldAt(now) } });
  const [counted] = await prisma.$queryRaw<[{ readonly held: bigint | number }]>`/* locks held */
    SELECT ${(await areFewHeld(prisma, now)) ? heldOnes(filter, now) : allButExpired(filter, now)} AS held`;
  return Number(counted.held);
}

function heldOnes(filter: ListFilter, now: number): Prisma.Sql {
  return count(filter, BY_EXPIRY, Prisma.sql`expiry_recorded = false AND expires_at > ${now}`);
}

function allButExpired(filter: ListFilter, now: number): Prisma.Sql {
  const all = count(filter, BY_NAME, Prisma.sql`true`);
  const recorded = count(filter, BY_EXPIRY, Prisma.sql`expiry_recorded = true`);
  const due = count(filter, BY_EXPIRY, Prisma.sql`expiry_recorded = false AND expires_at <= ${now}`);
  return Prisma.sql`${all} - ${recorded} - ${due}`;
}

function count(filter: ListFilter, access: Access, condition: Prisma.Sql): Prisma.Sql {
  const conditions = Prisma.join([condition, ...admittedConditions(filter, access)], ' AND ');
  return Prisma.sql`(SELECT COUNT(*) FROM distributed_locks WHERE ${conditions})`;
}
