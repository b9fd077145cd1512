import { execFileSync } from 'node:child_process';
import { constants, copyFileSync, cpSync, existsSync, linkSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acquireLock } from '../support/http-client.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { runBash } from './example.js';
import { codeBlock, ROOT } from './readme.js';

/** Often of the file system that has the clone, so that its files need no copy; and programs may run from there. */
const PLACE = tmpdir();

/** npm writes it where it lies. Of other packages it only removes files. */
const WRITTEN_BY_NPM = '.package-lock.json';

/** A second name for a file, or a copy where it can have none there. */
function link(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to, constants.COPYFILE_FICLONE);
  }
}

/** A directory with the same files. */
function linkAll(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkAll(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (entry.name === WRITTEN_BY_NPM) copyFileSync(source, target);
    else link(source, target);
  }
}

/** A copy of the clone and of what `npm ci` puts into it, which takes too long to be done again here. */
function copyOfClone(): string {
  const directory = temporaryDirectory(PLACE);
  const committed = execFileSync('git', ['ls-files', '-z', '--', ':!test'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const file of [...committed.filter((name) => name !== ''), 'dist']) {
    if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(directory, file), { recursive: true });
  }
  linkAll(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
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
