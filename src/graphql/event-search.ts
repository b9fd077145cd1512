import { endOfPrefix } from '../locks/names.js';
import type { LockEventType } from '../locks/events.js';
import type { LockSelector } from '../store/lock-store.js';
import { segmentOf, SEGMENT_REVISIONS } from '../store/log-segments.js';
import type { Prisma } from '../store/generated/sqlite/client.js';
import type { PrismaReader } from '../store/prisma-clients.js';
import type { LockEventRow } from './lock-row.js';

/** Which events; what is null does not narrow. */
export interface EventFilter extends LockSelector {
  readonly types: readonly LockEventType[] | null;
  readonly fencingToken: bigint | null;
  /** Epoch milliseconds of `at`, both included. */
  readonly since: number | null;
  readonly until: number | null;
}

/** Revisions, both included. */
export interface Revisions {
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * The segments that one query looks through. A search that finds little reads all events of them in one go, and on SQLite
 * nothing else runs meanwhile: that bounds a step to about 20 ms.
 */
const SEGMENTS_PER_STEP = 16n;

/** The newest events within the revisions that the filter admits, newest first, or the oldest ones, oldest first; at most `limit`. */
export async function searchEvents(
  prisma: PrismaReader,
  filter: EventFilter,
  revisions: Revisions,
  limit: number,
  oldestFirst: boolean,
): Promise<readonly LockEventRow[]> {
  // A token has an index of its own, and few events.
  if (filter.fencingToken !== null) return findEvents(prisma, filter, revisions, false, limit, oldestFirst);

  const found: LockEventRow[] = [];
  for (const step of stepsThrough(revisions, oldestFirst)) {
    found.push(...(await findEvents(prisma, filter, step, true, limit - found.length, oldestFirst)));
    if (found.length >= limit) break;
    if (!oldestFirst && filter.since !== null && (await isWrittenBefore(prisma, step.from, filter.since))) break;
  }
  return found;
}

/** Cuts the revisions where segments begin. */
function* stepsThrough({ from, to }: Revisions, oldestFirst: boolean): Generator<Revisions> {
  const stepOf = (revision: bigint) => segmentOf(revision) / SEGMENTS_PER_STEP;
  const count = stepOf(to) - stepOf(from);
  for (let n = 0n; n <= count && from <= to; n++) {
    const step = oldestFirst ? stepOf(from) + n : stepOf(to) - n;
    const first = step * SEGMENTS_PER_STEP * SEGMENT_REVISIONS;
    const last = first + SEGMENTS_PER_STEP * SEGMENT_REVISIONS - 1n;
    yield { from: first > from ? first : from, to: last < to ? last : to };
  }
}

function findEvents(
  prisma: PrismaReader,
  filter: EventFilter,
  revisions: Revisions,
  bySegment: boolean,
  limit: number,
  oldestFirst: boolean,
): Promise<LockEventRow[]> {
  const direction = oldestFirst ? 'asc' : 'desc';
  const where: Prisma.LockEventWhereInput = { ...admittedBy(filter), revision: { gte: revisions.from, lte: revisions.to } };
  // Where names are asked for, the indexes of them begin with the segment: a list of segments is what lets them be used,
  // and the order by segment first is the order by revision.
  const named = filter.resource !== null || filter.owner !== null || Boolean(filter.prefix);
  if (!bySegment || !named) return prisma.lockEvent.findMany({ where, orderBy: { revision: direction }, take: limit });
  return prisma.lockEvent.findMany({
    where: { ...where, segment: { in: segmentsOf(revisions) } },
    orderBy: [{ segment: direction }, { revision: direction }],
    take: limit,
  });
}

function segmentsOf({ from, to }: Revisions): bigint[] {
  const first = segmentOf(from);
  return Array.from({ length: Number(segmentOf(to) - first) + 1 }, (_, n) => first + BigInt(n));
}

function admittedBy({ resource, prefix, owner, types, fencingToken, since, until }: EventFilter): Prisma.LockEventWhereInput {
  const end = prefix === null ? null : endOfPrefix(prefix);
  return {
    ...(resource === null ? {} : { resource }),
    ...(prefix ? { resource: { gte: prefix, ...(end === null ? {} : { lt: end }) } } : {}),
    ...(owner === null ? {} : { owner }),
    ...(types === null ? {} : { type: { in: [...types] } }),
    ...(fencingToken === null ? {} : { fencingToken }),
    ...(since === null && until === null ? {} : { at: { gte: since ?? undefined, lte: until ?? undefined } }),
  };
}

/** Whether no event up to that revision can have happened at `since` or later: none happens after it was written. */
async function isWrittenBefore(prisma: PrismaReader, revision: bigint, since: number): Promise<boolean> {
  const event = await prisma.lockEvent.findUnique({ where: { revision }, select: { writtenAt: true } });
  return event !== null && event.writtenAt < since;
}
