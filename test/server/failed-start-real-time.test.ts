import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { failToStart } from '../support/server-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const newDatabase = () => `file:${join(temporaryDirectory(), 'holdfast.db')}`;

describe('a start that can not succeed', () => {
  test('of wrong variables says one line for each, and exits with 1', async () => {
    const { code, text } = await failToStart({ PORT: 'x', MAX_TTL_MS: '0' });
    expect([code, text.split('\n').length]).toEqual([1, 3]);
    expect(text).toMatch(/^PORT="x": .*\nMAX_TTL_MS="0": .*\n$/);
  });

  test('of a database that can not be opened says so in one line', async () => {
    const { code, text } = await failToStart({ PORT: '0', DATABASE_URL: 'file:/nowhere/at/all/holdfast.db' });
    expect(code).toBe(1);
    expect(text).toMatch(/^[^\n]*\/nowhere\/at\/all[^\n]*\n$/);
  });

  test.each(['file:/proc/holdfast.db', 'file:/dev/full', 'file: '])('of the database "%s" says so in one line', async (url) => {
    const { code, text } = await failToStart({ PORT: '0', DATABASE_URL: url });
    expect(code).toBe(1);
    expect(text).toMatch(/^The database .* can't be opened: [^\n]*\n$/);
  });

  test.each([
    ['fe80::1', 'EINVAL'],
    ['192.0.2.1', 'EADDRNOTAVAIL'],
    ['no.such.host.invalid', '(ENOTFOUND|EAI_AGAIN)'],
  ])('of the address %s, which is not its own, says so in one line', async (host, reason) => {
    const { code, text } = await failToStart({ PORT: '0', HOST: host, ALLOW_ANONYMOUS: 'true', DATABASE_URL: newDatabase() });
    expect(code).toBe(1);
    expect(text).toMatch(new RegExp(`^HOST=${host}, PORT=0: can't listen there \\(${reason}\\)\n$`));
  });

  test('of a port that is taken says so in one line', async () => {
    const { origin } = await startTestApp();
    const { port } = new URL(origin);
    const { code, text } = await failToStart({ PORT: port, DATABASE_URL: newDatabase() });
    expect([code, text]).toEqual([1, `PORT=${port}: another program listens there already\n`]);
  });
});
