import { rangeOfPrefix } from '../../locks/names.js';
import type { Prisma } from '../generated/sqlite/client.js';
import { segmentOf, SEGMENT_REVISIONS } from '../log-segments.js';
import type { PrismaReader } from '../prisma-clients.js';
import type { EventFilter, Revisions } from './event-filter.js';
import type { EventRecord } from './records.js';
import { stretchesWithin } from './segment-spans.js';

/** How many segments the first query looks through: enough for a page of a filter that admits most. */
const FIRST_STEP = 4n;

/** Each segment is a parameter of its query, and Prisma's client of SQLite refuses a query of more than 999. */
const LONGEST_STEP = 512n;

/**
 * A query that finds little reads all events it looks through, and on SQLite nothing else runs meanwhile. So a search
 * takes steps that grow while they are quick, and shrink when one takes longer than this.
 */
const STEP_MS = 10;

/** The newest events within the revisions that the filter admits, newest first, or the oldest ones, oldest first; at most `limit`. */
export async function walkEvents(
  prisma: PrismaReader,
  filter: EventFilter,
  revisions: Revisions,
  limit: number,
  oldestFirst: boolean,
): Promise<readonly EventRecord[]> {
  const found: EventRecord[] = [];
  let segments = FIRST_STEP;
  for (let rest = revisions; rest.from <= rest.to;) {
    const step = firstStep(rest, segments, oldestFirst);
    const startedAt = performance.now();
    const stretches = await stretchesWithin(prisma, filter, step);
    for (const stretch of oldestFirst ? stretches : stretches.reverse()) {
      found.push(...(await findEvents(prisma, filter, stretch, limit - found.length, oldestFirst)));
      if (found.length >= limit) return found;
    }
    if (!oldestFirst && filter.since !== null && (await isWrittenBefore(prisma, step.from, filter.since))) break;
    segments = nextStep(segments, performance.now() - startedAt);
    rest = oldestFirst ? { from: step.to + 1n, to: rest.to } : { from: rest.from, to: step.from - 1n };
  }
  return found;
}

function nextStep(segments: bigint, tookMs: number): bigint {
  if (tookMs >= STEP_MS) return segments / 2n || 1n;
  return segments < LONGEST_STEP ? segments * 2n : LONGEST_STEP;
}

/** At most so many segments, from the end at which the search begins. */
function firstStep({ from, to }: Revisions, segments: bigint, oldestFirst: boolean): Revisions {
  if (oldestFirst) {
    const last = (segmentOf(from) + segments) * SEGMENT_REVISIONS - 1n;
    return { from, to: last < to ? last : to };
  }
  const first = (segmentOf(to) + 1n - segments) * SEGMENT_REVISIONS;
  return { from: first > from ? first : from, to };
}

function findEvents(
  prisma: PrismaReader,
  filter: EventFilter,
  revisions: Revisions,
  limit: number,
  oldestFirst: boolean,
): Promise<EventRecord[]> {
  const direction = oldestFirst ? 'asc' : 'desc';
  const where: Prisma.LockEventWhereInput = { ...eventsAdmittedBy(filter), revision: { gte: revisions.from, lte: revisions.to } };
  // Indexes of names begin with the segment: a list of segments is what lets them be used, and the order by
  // segment first is the order by revision.
  const isIndexed = filter.resource !== null || filter.owner !== null || filter.prefix !== null;
  if (!isIndexed) return prisma.lockEvent.findMany({ where, orderBy: { revision: direction }, take: limit });
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

function eventsAdmittedBy({ resource, prefix, owner, types, fencingToken, since, until }: EventFilter): Prisma.LockEventWhereInput {
  const names = prefix === null ? null : rangeOfPrefix(prefix);
  return {
    ...(resource === null ? {} : { resource }),
    ...(names === null ? {} : { resource: { gte: names.from, lt: names.before ?? undefined } }),
    ...(owner === null ? {} : { owner }),
    ...(types === null ? {} : { type: { in: [...types] } }),
    ...(fencingToken === null ? {} : { fencingToken }),
    ...(since === null && until === null ? {} : { at: { gte: since ?? undefined, lte: until ?? undefined } }),
  };
}

/** Whether no event up to that revision can have happened at `since` or later: none happens after it was written. */
async function isWrittenBefore(prisma: PrismaReader, revision: bigint, since: number): Promise<boolean> {
  const event = await prisma.lockEvent.findFirst({ where: { revision }, select: { writtenAt: true } });
  return event !== null && event.writtenAt < since;
}
