import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { openPrismaClient, type PrismaReader } from '../../../src/store/prisma-clients.js';
import { migratedDatabase } from '../../support/sqlite-files.js';

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
export async function databaseWith(rows: readonly Row[]): Promise<{ path: string; prisma: PrismaReader }> {
  const path = await migratedDatabase();
  const database = new Database(path);
  const insert = database.prepare(
    `INSERT INTO distributed_locks (resource, owner, fencing_token, revision, acquired_at, expires_at, ttl_ms, reacquired, expiry_recorded)
     VALUES (?, ?, ?, ?, ?, ?, 1000, 0, ?)`,
  );
  database.transaction(() => {
    rows.forEach(({ resource, owner, expiresAt }, n) =>
      insert.run(resource, owner, n + 1, n + 1, expiresAt - 1000, expiresAt, expiresAt < NOW ? 1 : 0),
    );
  })();
  database.close();
  const prisma = await openPrismaClient(`file:${path}`);
  onTestFinished(() => prisma.$disconnect());
  return { path, prisma };
}
