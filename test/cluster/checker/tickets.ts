import type { Change, Violation } from './history.js';

/** An acquisition that was somebody's turn, and when this one had come: whoever has a lower ticket came before. */
export interface TicketedGrant {
  readonly revision: bigint;
  readonly ticket: bigint;
}

/** Who had its turn after somebody that came later. */
export function findLateTurn(grants: readonly TicketedGrant[], log: readonly Change[]): Violation | null {
  const ticketOf = new Map(grants.map(({ revision, ticket }) => [revision, ticket]));
  const newest = new Map<string, bigint>();
  const held = new Set<string>();
  for (const change of log) {
    const { type, resource, revision } = change;
    const wasHeld = held.has(resource);
    if (type === 'ACQUIRED') held.add(resource);
    if (type === 'RELEASED' || type === 'EXPIRED') held.delete(resource);
    const ticket = ticketOf.get(revision);
    // What its owner holds already is not for those in line.
    if (type !== 'ACQUIRED' || wasHeld || ticket === undefined) continue;
    if (ticket < (newest.get(resource) ?? 0n)) return { problem: 'had its turn after one that came later', resource, change };
    newest.set(resource, ticket);
  }
  return null;
}
