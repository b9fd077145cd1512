import { onTestFinished } from 'vitest';
import type { LockEventType } from '../../../src/locks/events.js';
import { SEGMENT_REVISIONS } from '../../../src/store/log-segments.js';
import { openPrismaClient, type PrismaReader } from '../../../src/store/prisma-clients.js';
import type { EventFilter } from '../../../src/store/reads/event-filter.js';
import { insertRows } from '../../support/sql.js';

export const ANYTHING: EventFilter = {
  resource: null,
  prefix: null,
  owner: null,
  types: null,
  fencingToken: null,
  since: null,
  until: null,
};

/** The first revision of a segment. */
export function startOf(segment: number): bigint {
  return BigInt(segment) * SEGMENT_REVISIONS;
}

/** Writes events to the log, wherever it is; their resource is named after the revision. */
export async function insertEvents(
  databaseUrl: string,
  events: readonly { readonly revision: bigint; readonly type: LockEventType }[],
): Promise<void> {
  const rows = events.map(({ revision, type }) => ({
    revision: Number(revision),
    segment: Number(revision / SEGMENT_REVISIONS),
    type,
    at: 0,
    written_at: 0,
    resource: `job/${revision}`,
    owner: 'A',
    fencing_token: Number(revision),
    acquired_at: 0,
    expires_at: 1,
  }));
  await insertRows(databaseUrl, 'lock_events', rows);
}

/** A client that is closed when the test is over. */
export async function openReader(databaseUrl: string): Promise<PrismaReader> {
  const prisma = await openPrismaClient(databaseUrl);
  onTestFinished(() => prisma.$disconnect());
  return prisma;
}
