import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openPrismaClient } from '../../../src/store/prisma-clients.js';
import { migratedDatabase } from '../../support/sqlite-files.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

test('the client can’t write', async () => {
  const client = await openPrismaClient(`file:${await migratedDatabase()}`);
  onTestFinished(() => client.$disconnect());
  await expect(client.lockClock.updateMany({ data: { at: 1n } })).rejects.toThrow();
});

test('a directory that does not exist is refused by its name', async () => {
  const directory = join(temporaryDirectory(), 'missing');
  await expect(openPrismaClient(`file:${directory}/holdfast.db`)).rejects.toThrow(`there is no directory ${directory}`);
});
