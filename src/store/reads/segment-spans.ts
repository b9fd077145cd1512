import { LRUCache } from 'lru-cache';
import { segmentOf, SEGMENT_REVISIONS } from '../log-segments.js';
import type { PrismaReader } from '../prisma-clients.js';
import type { EventFilter, Revisions } from './event-filter.js';

/** What the events of one type in one segment lie between. */
interface Span {
  readonly type: string;
  /** Epoch milliseconds. */
  readonly first: number;
  readonly last: number;
  readonly lowestToken: bigint;
  readonly highestToken: bigint;
}
type Spans = readonly Span[];

/** What one query looks through for spans that are not known yet: about 10 ms. */
const SEGMENTS_AT_ONCE = 2;
/** Of a log of 16 million events; of a longer one those of the segments that are asked for. A few hundred bytes each. */
const KNOWN_SEGMENTS = 4096;

/** No index is of types, of `at` or of tokens. A whole segment never changes, but for being pruned: what it has is found out once. */
const known = new WeakMap<PrismaReader, LRUCache<number, Spans>>();

/**
 * The stretches of these revisions that may have an event of the filter's types, times and token, in revision order.
 *
 * @param revisions all of which are written
 */
export async function stretchesWithin(prisma: PrismaReader, filter: EventFilter, revisions: Revisions): Promise<Revisions[]> {
  const { resource, types, since, until, fencingToken } = filter;
  // The few events of one resource are found by its name.
  if (resource !== null || [types, since, until, fencingToken].every((wanted) => wanted === null)) return [revisions];
  const { from, to } = revisions;
  const segments = range(Number(segmentOf(from)), Number(segmentOf(to)));
  const whole = segments.filter((segment) => endOf(segment) <= to);
  const spans = await spansOf(prisma, whole);
  const stretches: Revisions[] = [];
  for (const segment of segments) {
    if (spans.get(segment)?.some((span) => admits(filter, span)) === false) continue;
    const start = endOf(segment - 1) + 1n;
    const last = stretches.at(-1);
    const end = endOf(segment) < to ? endOf(segment) : to;
    if (last?.to === start - 1n) stretches.splice(-1, 1, { from: last.from, to: end });
    else stretches.push({ from: start > from ? start : from, to: end });
  }
  return stretches;
}

function admits({ types, since, until, fencingToken }: EventFilter, { type, first, last, ...tokens }: Span): boolean {
  return (
    (types === null || types.some((admitted) => admitted === type)) &&
    (since === null || last >= since) &&
    (until === null || first <= until) &&
    (fencingToken === null || (tokens.lowestToken <= fencingToken && fencingToken <= tokens.highestToken))
  );
}

async function spansOf(prisma: PrismaReader, segments: readonly number[]): Promise<ReadonlyMap<number, Spans>> {
  let cache = known.get(prisma);
  if (cache === undefined) known.set(prisma, (cache = new LRUCache({ max: KNOWN_SEGMENTS })));
  const found = new Map<number, Spans>();
  const missing: number[] = [];
  for (const segment of segments) {
    const spans = cache.get(segment);
    if (spans === undefined) missing.push(segment);
    else found.set(segment, spans);
  }
  for (const adjacent of stretchesOf(missing)) {
    for (const [segment, spans] of await readSpans(prisma, adjacent)) {
      cache.set(segment, spans);
      found.set(segment, spans);
    }
  }
  return found;
}

/** Cuts where segments are not adjacent: what lies between is known, and is not read again. */
function stretchesOf(segments: readonly number[]): number[][] {
  const stretches: number[][] = [];
  for (const segment of segments) {
    const last = stretches.at(-1);
    if (last?.at(-1) === segment - 1 && last.length < SEGMENTS_AT_ONCE) last.push(segment);
    else stretches.push([segment]);
  }
  return stretches;
}

/** @param segments which are adjacent */
async function readSpans(prisma: PrismaReader, segments: readonly number[]): Promise<Map<number, Span[]>> {
  const spans = new Map<number, Span[]>(segments.map((segment) => [segment, []]));
  const [first = 0, last = first] = [segments.at(0), segments.at(-1)];
  const groups = await prisma.lockEvent.groupBy({
    by: ['segment', 'type'],
    where: { revision: { gt: endOf(first - 1), lte: endOf(last) } },
    _min: { at: true, fencingToken: true },
    _max: { at: true, fencingToken: true },
  });
  for (const { segment, type, _min, _max } of groups) {
    const [lowestToken, highestToken] = [_min.fencingToken ?? 0n, _max.fencingToken ?? 0n];
    spans.get(Number(segment))?.push({ type, first: Number(_min.at), last: Number(_max.at), lowestToken, highestToken });
  }
  return spans;
}

function endOf(segment: number): bigint {
  return (BigInt(segment) + 1n) * SEGMENT_REVISIONS - 1n;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n);
}
