import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { addressed } from '../readme/example.js';
import { codeBlock } from '../readme/readme.js';
import { startTestApp } from '../support/app.js';
import { acquireLock } from '../support/http-client.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { useBrowser } from './browser.js';

const browser = useBrowser();
const PATIENCE = { timeout: 30_000 };

/** A site of somebody else's, with an empty page; its origin. */
async function startSite(): Promise<string> {
  const site = createServer((_request, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'));
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  onTestFinished(() => void site.close());
  return `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
}

/** A page of that site, closed when the test is over, and what it writes to its console. */
async function openPage(site: string): Promise<{ page: Page; lines: readonly string[] }> {
  const page = await browser().newPage();
  onTestFinished(() => page.close());
  const lines: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'log') lines.push(message.text().trim());
  });
  await page.goto(site);
  return { page, lines };
}

async function runExample(page: Page, origin: string): Promise<void> {
  await page.addScriptTag({ content: addressed(codeBlock('js', 'event-source.mjs').text, origin) });
}

test(
  "a page's EventSource goes on after a break with what happened meanwhile, and nothing twice",
  { timeout: 60_000 },
  async () => {
    const site = await startSite();
    const { url, metric } = await startTestApp({ env: { ALLOWED_ORIGINS: site } });
    const proxy = await TcpProxy.start(url);
    const { page, lines } = await openPage(site);
    await runExample(page, new URL(proxy.through(url)).origin);
    await expect.poll(() => lines, PATIENCE).toEqual(['0 STARTED']);
    await acquireLock(url, 'job:1', 'anna');
    await expect.poll(() => lines.at(-1), PATIENCE).toBe('1 ACQUIRED job:1');

    proxy.cut();
    await acquireLock(url, 'job:2', 'anna');
    await expect.poll(() => lines.at(-1), PATIENCE).toBe('2 ACQUIRED job:2');
    await acquireLock(url, 'job:3', 'anna');
    await expect.poll(() => lines, PATIENCE).toEqual(['0 STARTED', '1 ACQUIRED job:1', '2 ACQUIRED job:2', '3 ACQUIRED job:3']);
    expect(await metric('holdfast_watchers')).toBe(1);
  },
);

test("a page's EventSource comes back after a result with errors, and after a refusal", { timeout: 60_000 }, async () => {
  const site = await startSite();
  const { url, origin } = await startTestApp({ env: { ALLOWED_ORIGINS: site } });
  const { page, lines } = await openPage(site);
  const headers = { 'content-type': 'text/event-stream', 'access-control-allow-origin': site };
  const failure = JSON.stringify({ errors: [{ message: 'The database did not answer' }] });
  const answers = [
    { status: 200, headers, body: `event: next\ndata: ${failure}\n\nevent: complete\ndata:\n\n` },
    { status: 503, headers, body: '' },
  ];
  await page.route(`${url}?**`, (route) => {
    const answer = answers.shift();
    return answer === undefined ? route.continue() : route.fulfill(answer);
  });
  await runExample(page, origin);
  await expect.poll(() => lines, PATIENCE).toEqual(['0 STARTED']);
  expect(answers).toEqual([]);
  await acquireLock(url, 'job:1', 'anna');
  await expect.poll(() => lines, PATIENCE).toEqual(['0 STARTED', '1 ACQUIRED job:1']);
});
