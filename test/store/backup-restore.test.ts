import { once } from 'node:events';
import { copyFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { applyMigrations } from '../../src/store/migrations.js';
import { backUp } from '../../src/store/sqlite/backup.js';
import { restore } from '../../src/store/sqlite/restore.js';
import { clockOf, databaseAndBackup, migratedDatabase, setClock, startWriter, use } from '../support/sqlite-files.js';

const JUMP = 1_000_000_000_000n;
const NOW = 1_750_000_000_000;

describe('a restore', () => {
  test('begins a new log, above all revisions and moments of either database', async () => {
    const { path, backup } = await databaseAndBackup();
    const { logId, revision } = await restore(backup, path, NOW);
    expect(revision).toBe(900n + JUMP);
    expect(clockOf(path)).toEqual({ logId, revision, oldestRevision: revision, at: 9000n });
    expect(logId).toMatch(/^[0-9a-f]{32}$/);
    expect(logId).not.toBe(clockOf(backup).logId);
  });

  test('twice from one backup begins two logs, the second above the first', async () => {
    const { path, backup } = await databaseAndBackup();
    const first = await restore(backup, path, NOW);
    const second = await restore(backup, path, NOW + 1);
    expect(second.revision).toBe(first.revision + JUMP);
    expect(second.logId).not.toBe(first.logId);
  });

  test('goes by the backup where that is ahead', async () => {
    const { path, backup } = await databaseAndBackup();
    setClock(path, 3n, 3n);
    expect((await restore(backup, path, NOW)).revision).toBe(500n + JUMP);
    expect(clockOf(path).at).toBe(5000n);
  });

  test('brings back the locks of the backup, and leaves the backup as it is', async () => {
    const path = await migratedDatabase();
    const backup = join(dirname(path), 'backup.db');
    const server = use(path);
    server.exec(`INSERT INTO distributed_locks VALUES (7, 'job:1', 'a', 1, 1, 1, 9, 9, NULL, 0, NULL, 0)`);
    backUp(path, backup);
    server.exec('DELETE FROM distributed_locks');
    server.close();
    const before = readFileSync(backup);
    await restore(backup, path, NOW);
    expect(use(path).prepare('SELECT id, resource FROM distributed_locks').all()).toEqual([{ id: 7, resource: 'job:1' }]);
    expect(readFileSync(backup).equals(before)).toBe(true);
  });

  test('brings back nobody who stood in line: whoever waited is gone', async () => {
    const path = await migratedDatabase();
    const backup = join(dirname(path), 'backup.db');
    const server = use(path);
    server.exec(`INSERT INTO lock_waiters VALUES ('job:1', 1, 'i.1', 'i', 'b', 9, NULL, NULL, NULL, NULL, 1, 9);
                 INSERT INTO lock_instances VALUES ('i', 9); UPDATE lock_tickets SET last = 1, waiting = 1`);
    backUp(path, backup);
    server.close();
    await restore(backup, path, NOW);
    const restored = use(path);
    expect(restored.prepare('SELECT * FROM lock_waiters').all()).toEqual([]);
    expect(restored.prepare('SELECT * FROM lock_instances').all()).toEqual([]);
    expect(restored.prepare('SELECT last, waiting FROM lock_tickets').get()).toEqual({ last: 1, waiting: 0 });
  });

  test('keeps the replaced database, with what its write-ahead log held', async () => {
    const { path, backup } = await databaseAndBackup();
    const crashed = join(dirname(path), 'crashed.db');
    const server = use(path);
    server.exec('UPDATE lock_clock SET revision = 901');
    for (const suffix of ['', '-wal']) copyFileSync(path + suffix, crashed + suffix);

    const { revision, keptAside } = await restore(backup, crashed, NOW);
    expect(revision).toBe(901n + JUMP);
    expect(keptAside).toEqual([`${crashed}.replaced-${NOW}`]);
    expect(clockOf(`${crashed}.replaced-${NOW}`).revision).toBe(901n);
    expect(clockOf(crashed).revision).toBe(revision);
  });

  test('over a file that can’t be read keeps all of its files aside', async () => {
    const { path, backup } = await databaseAndBackup();
    for (const suffix of ['', '-wal', '-shm']) writeFileSync(path + suffix, `not a database${suffix}`);
    const { revision, keptAside } = await restore(backup, path, NOW);
    const aside = `${path}.replaced-${NOW}`;
    expect(keptAside).toEqual([aside, `${aside}-wal`, `${aside}-shm`]);
    expect(readFileSync(`${aside}-wal`, 'utf8')).toBe('not a database-wal');
    expect(clockOf(path).revision).toBe(revision);
  });

  test('where there is no database puts one there', async () => {
    const { path, backup } = await databaseAndBackup();
    const elsewhere = join(dirname(path), 'elsewhere.db');
    expect(await restore(backup, elsewhere, NOW)).toMatchObject({ revision: 500n + JUMP, keptAside: [] });
    expect(clockOf(elsewhere).revision).toBe(500n + JUMP);
    expect(await applyMigrations(`file:${elsewhere}`)).toEqual([]);
  });

  test('while a server uses the database is refused, and succeeds when the server is gone', async () => {
    const { path, backup } = await databaseAndBackup();
    const before = clockOf(path);
    const server = use(path);
    await expect(restore(backup, path, NOW)).rejects.toMatchObject({
      reason: 'IN_USE',
      message: `A server uses the database ${path}: stop it first`,
    });
    server.exec('UPDATE lock_clock SET revision = revision');
    server.close();
    expect(clockOf(path)).toEqual(before);
    expect(readdirSync(dirname(path)).sort()).toEqual(['backup.db', 'holdfast.db']);
    await expect(restore(backup, path, NOW)).resolves.toBeDefined();
  });

  test('while another process uses the database is refused, and succeeds when that is killed', async () => {
    const { path, backup } = await databaseAndBackup();
    const writer = await startWriter(path);
    await expect(restore(backup, path, NOW)).rejects.toMatchObject({ reason: 'IN_USE' });
    writer.kill('SIGKILL');
    await once(writer, 'exit');
    await expect(restore(backup, path, NOW)).resolves.toBeDefined();
  });

  describe('of a bad backup is refused, and changes nothing:', () => {
    async function expectRefused(spoil: (backup: string) => void, message: string): Promise<void> {
      const { path, backup } = await databaseAndBackup();
      const before = clockOf(path);
      spoil(backup);
      await expect(restore(backup, path, NOW)).rejects.toMatchObject({
        name: 'UnusableDatabase',
        message: expect.stringContaining(message) as string,
      });
      expect(clockOf(path)).toEqual(before);
      expect(readdirSync(dirname(path)).filter((name) => !name.startsWith('backup.db'))).toEqual(['holdfast.db']);
    }

    test('one of a newer version', () =>
      expectRefused((backup) => {
        const database = new Database(backup);
        database.exec(
          `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name) VALUES ('1', '', 1, '2999_newer')`,
        );
        database.close();
      }, 'newer version of Holdfast (2999_newer)'));

    test('one that was cut off', () =>
      expectRefused((backup) => {
        truncateSync(backup, 20_000);
      }, 'is damaged'));

    test('one that is empty', () =>
      expectRefused((backup) => {
        truncateSync(backup);
      }, 'is not a Holdfast database'));

    test('one that is something else', () =>
      expectRefused((backup) => {
        writeFileSync(backup, 'something else'.repeat(100));
      }, 'is not a Holdfast database'));
  });

  test('of the database itself is refused', async () => {
    const { path } = await databaseAndBackup();
    await expect(restore(path, path, NOW)).rejects.toThrow('is the database itself');
  });
});
