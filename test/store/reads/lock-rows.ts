import { onTestFinished } from 'vitest';
import { openPrismaClient, type PrismaReader } from '../../../src/store/prisma-clients.js';
import { createDatabase } from '../../support/database.js';
import { insertRows } from '../../support/sql.js';

/** The moment at which these tests read. */
export const NOW = Date.UTC(2026, 0, 1);

export interface Row {
  readonly resource: string;
  readonly owner: string;
  readonly expiresAt: number;
}

export const held = (resource: string, owner = 'A', leftMs = 1000): Row => ({ resource, owner, expiresAt: NOW + leftMs });

/** Expired at this very moment, unless longer ago; only then its expiry is in the log. */
export const expired = (resource: string, owner = 'A', agoMs = 0): Row => ({ resource, owner, expiresAt: NOW - agoMs });

/** So many rows, whose names have the order of their numbers. */
export const many = (count: number, row: (name: string, n: number) => Row): Row[] =>
  Array.from({ length: count }, (_, n) => row(String(n).padStart(6, '0'), n));

/** A database with these rows; its client is closed when the test is over. */
export async function databaseWith(rows: readonly Row[]): Promise<PrismaReader> {
  const databaseUrl = await createDatabase();
  const records = rows.map(({ resource, owner, expiresAt }, n) => ({
    resource,
    owner,
    fencing_token: n + 1,
    revision: n + 1,
    acquired_at: expiresAt - 1000,
    expires_at: expiresAt,
    ttl_ms: 1000,
    reacquired: false,
    expiry_recorded: expiresAt < NOW,
  }));
  await insertRows(databaseUrl, 'distributed_locks', records);
  const prisma = await openPrismaClient(databaseUrl);
  onTestFinished(() => prisma.$disconnect());
  return prisma;
}
