import type { Call, Change, History, HoldCall, Outage, Span, Tolerance, Violation } from './history.js';
import { partsOfGroup } from './parts.js';

/** A stretch of the wall clock in which somebody certainly stood in line, whose turn it could be at any moment. */
export interface Standing extends Span {
  readonly resource: string;
  readonly client: string;
}

type Sent = Pick<Call, 'server'>;

/** The lease of an instance: within it every place in line is kept, even of one whose server gives no sign of life. */
const LEASE_MS = 5_000;

/**
 * Who certainly stood in line, and when. Whoever is told that its time is up had stood there for that long; where there are
 * several locks, in each of their lines. Whoever is told its place stands there from then on.
 */
export function certainlyInLine({ calls, groups, holds, outages }: History): Standing[] {
  const timedOut = groups.filter(({ told }) => told.kind === 'refused-all' && told.reason === 'WAIT_TIMEOUT').flatMap(partsOfGroup);
  timedOut.push(...calls.filter(({ told }) => told.kind === 'conflict' && told.reason === 'WAIT_TIMEOUT'));
  const standing: (Standing & Sent)[] = timedOut.flatMap(({ question, wall, client, server }) => {
    if (question.kind !== 'acquire') return [];
    const waitMs = question.wait?.waitMs ?? 0;
    const { resource } = question;
    return [{ client, server, resource, from: wall.to - waitMs, to: wall.from + Math.min(waitMs, LEASE_MS) }];
  });
  for (const hold of holds) {
    const queued = hold.updates.find(({ told }) => told.kind === 'queued');
    if (queued === undefined) continue;
    const { client, server, question, wall } = hold;
    const to = Math.min(leftLineAt(hold), wall.from + LEASE_MS);
    standing.push({ client, server, resource: question.resource, from: queued.wall, to });
  }
  return standing.map((place) => ({ ...place, to: Math.min(place.to, firstOutage(place, outages)) }));
}

/** When the server was first out of reach while somebody may have stood in line there; Infinity: at no time. */
function firstOutage({ server, from }: Standing & Sent, outages: readonly Outage[]): number {
  const begins = outages.filter((outage) => (outage.server === null || outage.server === server) && outage.to >= from);
  return Math.min(Infinity, ...begins.map((outage) => outage.from));
}

/** Until when it certainly stood there. Of one that was cut off that is not known: the service may have noticed it first. */
function leftLineAt({ question, wall, updates, end }: HoldCall): number {
  const told = updates.map((update) => update.told).find(({ kind }) => kind === 'acquired' || kind === 'conflict');
  if (told?.kind === 'acquired') return told.lock.acquiredAt;
  if (told?.kind === 'conflict') return wall.from + (question.waitMs ?? 0);
  return end === 'completed' ? wall.to : -Infinity;
}

/**
 * Who was granted a lock that was free, though somebody else stood in line for it who had come before.
 *
 * @param doers who made each change
 * @param sentFirst when the request of a call was sent for the first time: a repetition has its place
 */
export function findOvertaking(
  standing: readonly Standing[],
  log: readonly Change[],
  doers: ReadonlyMap<bigint, Call>,
  sentFirst: (call: Call) => number,
  { commandMs }: Tolerance,
): Violation | null {
  const lines = new Map<string, Standing[]>();
  for (const place of standing) lines.set(place.resource, [...(lines.get(place.resource) ?? []), place]);
  const holders = new Map<string, bigint>();
  for (const change of log) {
    const { type, resource, at, fencingToken } = change;
    const wasHeld = holders.has(resource);
    if (type === 'ACQUIRED') holders.set(resource, fencingToken);
    if (type === 'RELEASED' || type === 'EXPIRED') holders.delete(resource);
    const call = doers.get(change.revision);
    // Whoever holds a lock may take it again.
    if (type !== 'ACQUIRED' || wasHeld || call === undefined) continue;
    const waits = call.question.kind === 'acquire' && call.question.wait !== null;
    for (const { client, from, to } of lines.get(resource) ?? []) {
      if (at < from + commandMs || at > to - commandMs) continue;
      if (!waits) return { problem: `granted to a newcomer though ${client} stood in line`, resource, change, call };
      if (sentFirst(call) > from)
        return { problem: `granted ahead of ${client}, who stood in line before`, resource, change, call };
    }
  }
  return null;
}
