import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.js';
import { sqlitePath } from '../../src/store/database-url.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { acquireLock, post } from '../support/http-client.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { WebSocketClient } from '../support/websocket-client.js';
import { runBash } from './example.js';
import { codeBlock } from './readme.js';

const SLOW = { timeout: 60_000 };
const RENEW = 'mutation ($input: RenewLockInput!) { renewLock(input: $input) { __typename } }';
const WATCH = 'subscription ($logId: ID) { lockChanges(after: 2, logId: $logId) { ... on LockSnapshot { reason logId } } }';

const directoryOf = ({ databaseUrl }: TestApp) => dirname(sqlitePath(databaseUrl));

/** Runs the block of that name on the app's database, with the backup beside it. */
function runOn(app: TestApp, name: 'backup' | 'restore') {
  const text = codeBlock('bash', name).text.replace('backup.db', join(directoryOf(app), 'backup.db'));
  return runBash(text, { env: { DATABASE_URL: app.databaseUrl } });
}

async function reasonOfSnapshot(url: string, logId: string | null): Promise<unknown> {
  const client = await WebSocketClient.open(url);
  client.subscribe('watch', WATCH, { logId });
  const { payload } = await client.expect('next');
  await client.close();
  return payload.data.lockChanges.reason;
}

const renew = async (url: string, resource: string) =>
  (await post(url, RENEW, { input: { resource, owner: 'anna' } })).data?.['renewLock'];
const head = async (url: string) => (await post(url, '{ server { logId revision } }')).data?.['server'];

describe('backup and restore', () => {
  test('do what the table says', SLOW, async () => {
    const app = await startTestApp();
    await acquireLock(app.url, 'before', 'anna');
    const backup = runOn(app, 'backup');
    expect(await backup.exited, await backup.complaints).toBe(0);
    await acquireLock(app.url, 'later', 'anna');
    const { logId } = await head(app.url);

    const refused = runOn(app, 'restore');
    expect(await refused.exited).toBe(1);
    expect(await refused.complaints).toContain('stop it first');
    expect(await renew(app.url, 'later')).toEqual({ __typename: 'LockRenewed' });
    await app.close();
    const restore = runOn(app, 'restore');
    expect(await restore.exited, await restore.complaints).toBe(0);
    expect(readdirSync(directoryOf(app)).some((file) => /^holdfast\.db\.replaced-\d+$/.test(file))).toBe(true);

    const { url } = await startTestApp({ env: { DATABASE_URL: app.databaseUrl } });
    expect(await head(url)).toEqual({ logId: expect.not.stringMatching(logId) as unknown, revision: String(10n ** 12n + 3n) });
    expect(await reasonOfSnapshot(url, logId)).toBe('RESET');
    expect(await reasonOfSnapshot(url, null)).toBe('GAP');
    expect(await renew(url, 'before')).toEqual({ __typename: 'LockRenewed' });
    expect(await renew(url, 'later')).toEqual({ __typename: 'NotFound' });
  });

  test('an existing backup is not overwritten', SLOW, async () => {
    const app = await startTestApp();
    expect(await runOn(app, 'backup').exited).toBe(0);
    const second = runOn(app, 'backup');
    expect(await second.exited).toBe(1);
    expect(await second.complaints).toContain('not overwritten');
  });
});

describe('npm start', () => {
  test('passes SIGTERM on to the service, and ends with its exit code when that is gone', SLOW, async () => {
    const env = { DATABASE_URL: `file:${join(temporaryDirectory(), 'locks.db')}`, PORT: '0', npm_config_update_notifier: 'false' };
    const npm = runBash('exec npm start', { env });
    await npm.printed(/listening on/);
    const [url = ''] = /http:[^"]+/.exec(npm.lines.join('')) ?? [];
    await acquireLock(url, 'job:1', 'anna');
    await npm.stop('SIGTERM');
    expect(await npm.exited).toBe(0);
    expect(npm.lines.at(-1)).toContain('shutting down');
    await expect(post(url, '{ __typename }')).rejects.toThrow();
  });
});

describe('the files of a deployment', () => {
  test('the unit starts what is built, with variables that are accepted', () => {
    const { text } = codeBlock('ini', 'holdfast.service');
    expect(text).toMatch(/^ExecStart=\S+\/node \S+\/dist\/main\.js$/m);
    const env = Object.fromEntries(
      [...text.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value] as const),
    );
    const [, state = ''] = /^StateDirectory=(\w+)$/m.exec(text) ?? [];
    expect(dirname(sqlitePath(readConfig(env).databaseUrl))).toBe(`/var/lib/${state}`);
    const [, stopSeconds] = /^TimeoutStopSec=(\d+)$/m.exec(text) ?? [];
    expect(Number(stopSeconds)).toBeGreaterThan(10);
  });

  test('the container has variables that are accepted, and probes that are answered', async () => {
    const { text } = codeBlock('yaml', 'container');
    const env = Object.fromEntries(
      [...text.matchAll(/name: (\w+), value: '(.*?)' /g)].map(([, name, value]) => [name, value] as const),
    );
    const { port, host } = readConfig(env);
    expect(host).toBe('0.0.0.0');
    const probes = [...text.matchAll(/httpGet: \{ path: (\S+), port: (\d+) \}/g)];
    expect(probes.map(([, , probed]) => Number(probed))).toEqual([port, port]);
    const { origin } = await startTestApp();
    for (const [, path] of probes) {
      const response = await fetch(`${origin}${path}`, { headers: { connection: 'close' } });
      expect(response.status).toBe(200);
      await response.text();
    }
  });
});
