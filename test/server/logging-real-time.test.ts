import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { acquireLock } from '../support/http-client.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('a server whose log can not be written goes on answering, and ends on SIGTERM', async () => {
  const port = await freePort();
  const env = {
    PATH: process.env['PATH'],
    PORT: String(port),
    DATABASE_URL: `file:${join(temporaryDirectory(), 'holdfast.db')}`,
    LOG_LEVEL: 'debug',
  };
  const server = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  // Nobody reads it any more: every write fails.
  server.stdout.destroy();
  const exited = once(server, 'exit') as Promise<[number | null]>;
  onTestFinished(() => void server.kill('SIGKILL'));

  const url = `http://127.0.0.1:${port}/graphql`;
  const answer = () => acquireLock(url, 'job:1', 'A').catch(() => null);
  await expect.poll(answer, { timeout: 15_000 }).toMatchObject({ __typename: 'LockAcquired' });
  expect(await acquireLock(url, 'job:2', 'A')).toMatchObject({ __typename: 'LockAcquired' });
  server.kill('SIGTERM');
  expect((await exited)[0]).toBe(0);
});
