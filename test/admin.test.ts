import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { clockOf, databaseAndBackup, migratedDatabase } from './support/sqlite-files.js';

const ADMIN = new URL('../dist/admin.js', import.meta.url).pathname;

const admin = (databaseUrl: string, ...args: string[]) =>
  spawnSync(process.execPath, [ADMIN, ...args], { env: { ...process.env, DATABASE_URL: databaseUrl }, encoding: 'utf8' });

const usage = { status: 2, stdout: '', stderr: expect.stringContaining('npm run backup -- FILE') as string };

describe('the commands of an administrator', () => {
  test('back up and restore, and say what they did', async () => {
    const { path, backup } = await databaseAndBackup();
    const file = `${backup}.new`;
    expect(admin(`file:${path}`, 'backup', file)).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringContaining(`Backed up ${path} to ${file}`) as string,
    });
    const restored = admin(`file:${path}`, 'restore', file);
    expect(restored).toMatchObject({ status: 0, stderr: '' });
    expect(restored.stdout).toContain(`Restored ${path} from ${file}: revision 1000000000900, log ${clockOf(path).logId}\n`);
    const kept = /The replaced database is kept as (.*)\n/.exec(restored.stdout)?.[1] ?? '';
    expect(existsSync(kept)).toBe(true);
  });

  test('that fail answer 1 and one line', async () => {
    const path = await migratedDatabase();
    const missing = join(dirname(path), 'missing.db');
    expect(admin(`file:${path}`, 'restore', missing)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `There is no backup ${missing}\n`,
    });
  });

  test('take an empty DATABASE_URL for one that is left out, as the server does', async () => {
    const missing = join(dirname(await migratedDatabase()), 'missing.db');
    expect(admin('', 'restore', missing).stderr).toBe(`There is no backup ${missing}\n`);
  });

  test.each([[[]], [['backup']], [['restore']], [['erase', 'file']], [['backup', 'one', 'two']]])(
    'given %j for SQLite answer 2 and the usage',
    (args) => {
      expect(admin('file:./holdfast.db', ...args)).toMatchObject(usage);
    },
  );

  test.each([[[]], [['backup']]])('given %j for PostgreSQL answer 2 and the usage', (args) => {
    expect(admin('postgresql://localhost/holdfast', ...args)).toMatchObject(usage);
  });

  test.each([[['backup', 'file']], [['restore', 'file']]])('given %j for PostgreSQL say what to do with its own tools', (args) => {
    const { status, stdout, stderr } = admin('postgresql://localhost/holdfast', ...args);
    expect([status, stdout]).toEqual([2, '']);
    for (const tool of ['pg_dump', 'pg_restore', 'npm run restore']) expect(stderr).toContain(tool);
  });

  test('given a DATABASE_URL that is wrong answer 1 and one line', () => {
    expect(admin('postgresql://u:secret@localhost', 'restore')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^DATABASE_URL="postgresql:\/\/\*\*\*@localhost": must be .*\n$/) as string,
    });
  });
});
