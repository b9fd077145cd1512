import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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

test(
  "a page's EventSource goes on after a break with what happened meanwhile, and nothing twice",
  { timeout: 60_000 },
  async () => {
    const site = await startSite();
    const { url, metric } = await startTestApp({ env: { ALLOWED_ORIGINS: site } });
    const proxy = await TcpProxy.start(url);
    const page = await browser().newPage();
    onTestFinished(() => page.close());
    const lines: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'log') lines.push(message.text().trim());
    });
    await page.goto(site);
    await page.addScriptTag({ content: addressed(codeBlock('js', 'event-source.mjs').text, new URL(proxy.through(url)).origin) });
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
