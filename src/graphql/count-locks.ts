import type { LockSelector } from '../store/lock-store.js';
import { Prisma } from '../store/generated/sqlite/client.js';
import type { PrismaReader } from '../store/prisma-clients.js';
import { accessFor, admittedConditions, BY_NAME, type Access } from './lock-access.js';
import { admittedBy } from './locks-by-name.js';

/**
 * How many of the locks that the selector admits are held at `now`: its rows, less those that have expired. The first are
 * counted in an index of names or owners alone, and only of the others the rows have to be looked at.
 */
export async function countLocks(prisma: PrismaReader, selector: LockSelector, now: number): Promise<number> {
  const access = await accessFor(prisma, selector);
  if (access === BY_NAME) return prisma.distributedLock.count({ where: { ...admittedBy(selector), expiresAt: { gt: now } } });
  const recorded = Prisma.sql`expiry_recorded = true`;
  const due = Prisma.sql`expiry_recorded = false AND expires_at <= ${now}`;
  const [counted] = await prisma.$queryRaw<[{ readonly held: bigint | number }]>`/* locks held */
    SELECT ${count(selector, BY_NAME, Prisma.sql`true`)} - ${count(selector, access, recorded)} - ${count(selector, access, due)} AS held`;
  return Number(counted.held);
}

function count(selector: LockSelector, access: Access, condition: Prisma.Sql): Prisma.Sql {
  const conditions = Prisma.join([condition, ...admittedConditions(selector, access)], ' AND ');
  return Prisma.sql`(SELECT COUNT(*) FROM distributed_locks WHERE ${conditions})`;
}
