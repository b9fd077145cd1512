import type { Change, Violation } from './history.js';

/** What the log says of one resource after a change of it. */
export interface Row {
  readonly owner: string;
  readonly fencingToken: bigint;
  readonly revision: bigint;
  readonly acquiredAt: number;
  readonly expiresAt: number;
  /** The TTL of the acquisition: what a renewal that names none uses. */
  readonly ttlMs: number;
  readonly reacquired: boolean;
  readonly metadata: string | null;
  /** Whether its EXPIRED is in the log. */
  readonly expiryRecorded: boolean;
}

/** The rule that the change breaks where the row is as given. */
class BrokenRule extends Error {}

/**
 * The rows that the changes of one resource leave, one after the other, if each of them is allowed by the rules after
 * those before it. The row before the first is none.
 */
export function replay(changes: readonly Change[]): (Row | null)[] | Violation {
  const rows: (Row | null)[] = [];
  let row: Row | null = null;
  for (const change of changes) {
    try {
      row = apply(row, change);
    } catch (error) {
      if (!(error instanceof BrokenRule)) throw error;
      return { problem: error.message, resource: change.resource, change };
    }
    rows.push(row);
  }
  return rows;
}

function apply(row: Row | null, change: Change): Row | null {
  switch (change.type) {
    case 'ACQUIRED':
      return acquired(row, change);
    case 'RENEWED':
      return renewed(row, change);
    case 'RELEASED':
      return released(row, change);
    case 'EXPIRED':
      return expired(row, change);
  }
}

function acquired(row: Row | null, { owner, fencingToken, revision, acquiredAt, expiresAt, at, metadata }: Change): Row {
  const isHeld = row !== null && !row.expiryRecorded;
  if (isHeld && at >= row.expiresAt) fail('claimed without an EXPIRED before it');
  if (isHeld && row.owner !== owner) fail('granted while another owner held it');
  if (row !== null && !isHeld && at < row.expiresAt) fail('claimed before it had expired');
  if (fencingToken !== revision) fail('the token is not the revision of its ACQUIRED');
  if (acquiredAt !== at) fail('acquired at another moment than it says');
  if (expiresAt <= at) fail('acquired for no time at all');
  const ttlMs = expiresAt - at;
  const established = { owner, fencingToken, revision, acquiredAt: at, expiresAt, ttlMs, metadata };
  return { ...established, reacquired: isHeld, expiryRecorded: false };
}

function renewed(row: Row | null, change: Change): Row {
  const { revision, expiresAt, at } = change;
  if (row === null || row.expiryRecorded || at >= row.expiresAt) return fail('renewed though nothing was held');
  if (!isOfAcquisition(row, change)) fail('a renewal changed what it renewed');
  if (expiresAt < row.expiresAt) fail('a renewal brought the expiry forward');
  return { ...row, revision, expiresAt };
}

function released(row: Row | null, change: Change): null {
  if (row === null || row.expiryRecorded || change.at >= row.expiresAt) return fail('released though nothing was held');
  if (!isOfAcquisition(row, change) || change.expiresAt !== row.expiresAt) fail('released another lock than was held');
  return null;
}

function expired(row: Row | null, change: Change): Row {
  if (row === null || row.expiryRecorded) return fail('expired though nothing was held');
  if (!isOfAcquisition(row, change)) fail('another lock expired than was held');
  if (change.expiresAt !== row.expiresAt || change.at !== row.expiresAt) fail('expired at another moment than its own');
  return { ...row, revision: change.revision, expiryRecorded: true };
}

function isOfAcquisition(row: Row, { owner, fencingToken, acquiredAt, metadata }: Change): boolean {
  const isSame = row.owner === owner && row.fencingToken === fencingToken && row.metadata === metadata;
  return isSame && (acquiredAt === null || row.acquiredAt === acquiredAt);
}

function fail(problem: string): never {
  throw new BrokenRule(problem);
}
