import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../../src/store/open-store.js';
import { acquire } from '../../support/commands.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const GONE = { name: 'StoreUnavailable', applied: false };

it.each([
  ['deleted', (file: string) => rmSync(file)],
  ['moved away', (file: string) => renameSync(file, `${file}.moved`)],
])('a database file that was %s takes no more locks', async (_, takeAway) => {
  const file = join(temporaryDirectory(), 'locks.db');
  const store = await openStore({ databaseUrl: `file:${file}`, retryWindowMs: 600_000 });
  onTestFinished(() => store.close());
  await store.commit([acquire('before', 'o')]);
  takeAway(file);
  await expect(store.commit([acquire('after', 'o')])).rejects.toMatchObject(GONE);
  await expect(store.head()).rejects.toMatchObject(GONE);
});

it('a database file that another one took the place of takes no more locks', async () => {
  const file = join(temporaryDirectory(), 'locks.db');
  const open = () => openStore({ databaseUrl: `file:${file}`, retryWindowMs: 600_000 });
  const first = await open();
  renameSync(file, `${file}.moved`);
  for (const suffix of ['-wal', '-shm']) rmSync(file + suffix);
  const second = await open();
  onTestFinished(async () => {
    await first.close();
    await second.close();
  });
  await second.commit([acquire('r', 'second')]);
  await expect(first.commit([acquire('r', 'first')])).rejects.toMatchObject(GONE);
});
