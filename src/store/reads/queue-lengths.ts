import type { PrismaReader } from '../prisma-clients.js';

/** How many stand in line for each of these resources at `now`; those for which nobody does are left out. */
export async function queueLengths(prisma: PrismaReader, resources: readonly string[], now: number): Promise<Map<string, number>> {
  const tickets = await prisma.lockTicket.findFirst({ select: { waiting: true } });
  if (tickets === null || tickets.waiting === 0n) return new Map();
  const live = await prisma.lockInstance.findMany({ select: { id: true }, where: { aliveUntil: { gt: now } } });
  const lines = await prisma.lockWaiter.groupBy({
    by: ['resource'],
    where: { resource: { in: [...resources] }, deadline: { gt: now }, instance: { in: live.map(({ id }) => id) } },
    _count: { _all: true },
  });
  return new Map(lines.map(({ resource, _count }) => [resource, _count._all]));
}
