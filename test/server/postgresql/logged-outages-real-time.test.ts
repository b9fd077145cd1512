import { expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.js';
import { createDatabase } from '../../support/database.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

const PATIENCE_MS = 15_000;

const warningsOf = (app: TestApp) =>
  app.logLines
    .map((line) => JSON.parse(line) as { level: number; msg: string; reason?: string; err?: unknown })
    .filter(({ level, msg }) => level > 20 && !msg.startsWith('listening'));

const messagesOf = (app: TestApp) => warningsOf(app).map(({ msg }) => msg);

test('a database that is gone for a while is told once, with the reason, and once when it is back', async () => {
  const databaseUrl = await createDatabase();
  const proxy = await TcpProxy.start(databaseUrl);
  const app = await startTestApp({ env: { DATABASE_URL: proxy.through(databaseUrl), LISTEN_DATABASE_URL: 'none' } });
  proxy.refuse();
  proxy.cut();
  const failures = () => app.metric('holdfast_failures_total');
  await expect.poll(failures, { timeout: PATIENCE_MS }).toBeGreaterThan(10);
  proxy.pass();
  await expect.poll(() => messagesOf(app), { timeout: PATIENCE_MS }).toHaveLength(2);
  expect(messagesOf(app)).toEqual(['the database can not be used', 'the database can be used again']);
  expect(warningsOf(app)[0]?.reason).toMatch(/: the connection was cut \(.*\)$/);
  expect(app.logLines.join('')).not.toMatch(/stack|at .*\.ts:\d/);
});

test('a LISTEN_DATABASE_URL that leads nowhere is told in a warning that names it, without its password', async () => {
  const databaseUrl = await createDatabase();
  const proxy = await TcpProxy.start(databaseUrl);
  const listenUrl = proxy.through(databaseUrl);
  proxy.refuse();
  const app = await startTestApp({ env: { DATABASE_URL: databaseUrl, LISTEN_DATABASE_URL: listenUrl } });
  await expect.poll(() => messagesOf(app), { timeout: PATIENCE_MS }).toHaveLength(1);
  proxy.pass();
  await expect.poll(() => messagesOf(app), { timeout: PATIENCE_MS }).toHaveLength(2);
  expect(messagesOf(app)).toEqual([
    expect.stringMatching(/^LISTEN_DATABASE_URL: changes of other instances are only looked for once a second, .*: the connection/),
    'LISTEN_DATABASE_URL: changes of other instances are told at once again',
  ]);
  expect(app.logLines.join('')).not.toContain(new URL(listenUrl).password);
});
