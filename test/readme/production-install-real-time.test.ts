import { execFileSync } from 'node:child_process';
import { constants, cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acquireLock } from '../support/http-client.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { runBash } from './example.js';
import { codeBlock, ROOT } from './readme.js';

/** A copy of the clone and of what `npm ci` puts into it, which takes too long to be done again here. */
function copyOfClone(): string {
  const directory = temporaryDirectory();
  const committed = execFileSync('git', ['ls-files', '-z', '--', ':!test'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const file of [...committed.filter((name) => name !== ''), 'dist', 'node_modules']) {
    if (!existsSync(join(ROOT, file))) continue;
    cpSync(join(ROOT, file), join(directory, file), { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
  }
  return directory;
}

test('without the development packages the service starts, locks and ends with 0', { timeout: 180_000 }, async () => {
  const clone = copyOfClone();
  const [install = '', prune = ''] = codeBlock('bash', 'deploy').text.split(' && ');
  expect(install).toBe('npm ci');
  const pruned = runBash(prune, { cwd: clone, env: { npm_config_offline: 'true' } });
  expect(await pruned.exited, await pruned.complaints).toBe(0);
  const tools = ['prisma', 'typescript', 'vitest', 'tsx', '@urql/core'];
  expect(tools.filter((tool) => existsSync(join(clone, 'node_modules', tool)))).toEqual([]);

  const env = { DATABASE_URL: `file:${join(clone, 'holdfast.db')}`, PORT: '0' };
  const server = runBash('exec node dist/main.js', { cwd: clone, env });
  await server.printed(/listening on/);
  const [url = ''] = /http:[^"]+/.exec(server.lines.join('')) ?? [];
  expect(await acquireLock(url, 'job:1', 'anna')).toMatchObject({ __typename: 'LockAcquired' });
  await server.stop('SIGTERM');
  expect(await server.exited).toBe(0);
});
