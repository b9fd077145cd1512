import type { PrismaReader } from '../prisma-clients.js';
import type { EventFilter, Revisions } from './event-filter.js';
import { walkEvents } from './event-walk.js';
import { FEW_ROWS, nameAfter } from './lock-access.js';
import { admittedBy, ALL_NAMES } from './lock-conditions.js';
import type { EventRecord } from './records.js';

/** The newest events within the revisions that the filter admits, newest first, or the oldest ones, oldest first; at most `limit`. */
export async function searchEvents(
  prisma: PrismaReader,
  filter: EventFilter,
  { from, to }: Revisions,
  limit: number,
  oldestFirst: boolean,
): Promise<readonly EventRecord[]> {
  const { fencingToken, prefix } = filter;
  if (fencingToken === null) return walkEvents(prisma, filter, { from, to }, limit, oldestFirst);
  // A token is the revision of the first event that bears it.
  const revisions = { from: fencingToken > from ? fencingToken : from, to };
  if (revisions.from > to) return [];
  const resource = filter.resource ?? (await resourceOfToken(prisma, filter, fencingToken, revisions));
  if (resource?.startsWith(prefix ?? '') !== true) return [];
  return walkEvents(prisma, { ...filter, resource, prefix: null }, revisions, limit, oldestFirst);
}

/** No index is of tokens: the resource that a token is of leads to its events. null: nothing in these revisions bears it. */
async function resourceOfToken(
  prisma: PrismaReader,
  filter: EventFilter,
  fencingToken: bigint,
  revisions: Revisions,
): Promise<string | null> {
  const event = await prisma.lockEvent.findFirst({
    where: { revision: fencingToken },
    select: { type: true, resource: true },
  });
  if (event !== null) return event.type === 'ACQUIRED' ? event.resource : null;
  // Its acquisition is not kept any more. What else there is of it may be.
  const held = await resourceHeldUnder(prisma, filter, fencingToken);
  if (held !== null) return held;
  const { owner, prefix } = filter;
  const any = { resource: null, owner, prefix, types: null, fencingToken, since: null, until: null };
  const [first] = await walkEvents(prisma, any, revisions, 1, true);
  return first?.resource ?? null;
}

/** Of the lock that is held under the token, or was until it expired; null: of none, or too many rows would have to be looked at. */
async function resourceHeldUnder(
  prisma: PrismaReader,
  { prefix, owner }: EventFilter,
  fencingToken: bigint,
): Promise<string | null> {
  const filter = { prefix, owner };
  if ((await nameAfter(prisma, filter, ALL_NAMES, FEW_ROWS, false)) !== null) return null;
  const lock = await prisma.distributedLock.findFirst({
    where: { ...admittedBy(filter, ALL_NAMES), fencingToken },
    select: { resource: true },
  });
  return lock?.resource ?? null;
}
