import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { useBrowser } from './browser.js';

/** A page of several MB, with an editor in it, on a busy machine. */
const PATIENCE = { timeout: 30_000 };

const browser = useBrowser();

interface Window {
  readonly page: Page;
  /** What the page complained about. */
  readonly complaints: string[];
}

async function openGraphiql(url: string, requested: Set<string>): Promise<Window> {
  const context = await browser().newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('request', (request) => requested.add(request.url()));
  page.on('websocket', (socket) => requested.add(socket.url()));
  await page.goto(url);
  await page.getByRole('tab', { name: 'Acquire' }).waitFor(PATIENCE);
  return { page, complaints };
}

async function run(page: Page, tab: string): Promise<void> {
  await page.getByRole('button', { name: tab, exact: true }).click();
  await page.getByRole('tab', { name: tab, selected: true }).waitFor(PATIENCE);
  // GraphiQL runs the operation whose name it last read in the editor, and reads it a moment after the text has come.
  await page.waitForFunction(activeOperationIs, tab, PATIENCE);
  await page.getByRole('button', { name: /Execute query/ }).click();
}

/** Runs in the page: what GraphiQL keeps of its tabs tells which operation it would run. */
function activeOperationIs(name: string): boolean {
  interface TabState {
    readonly tabs: readonly { readonly operationName: string | null }[];
    readonly activeTabIndex: number;
  }
  const { tabs, activeTabIndex } = JSON.parse(
    localStorage.getItem('graphiql:tabState') ?? '{"tabs":[],"activeTabIndex":0}',
  ) as TabState;
  return tabs[activeTabIndex]?.operationName === name;
}

async function waitForResult(page: Page, text: string): Promise<void> {
  await page.locator('.result-window').getByText(text).first().waitFor(PATIENCE);
}

describe('GraphiQL', () => {
  test('shows in one window what another one acquires, and asks nobody but the server', { timeout: 120_000 }, async () => {
    const { url, origin } = await startTestApp();
    const requested = new Set<string>();
    const watcher = await openGraphiql(url, requested);
    await run(watcher.page, 'Watch');
    await waitForResult(watcher.page, 'LockSnapshot');

    const worker = await openGraphiql(url, requested);
    await run(worker.page, 'Acquire');
    await waitForResult(worker.page, 'LockAcquired');
    await waitForResult(watcher.page, 'ACQUIRED');
    await run(worker.page, 'Renew');
    await waitForResult(worker.page, 'LockRenewed');
    await run(worker.page, 'Look');
    await waitForResult(worker.page, 'RENEWED');
    await run(worker.page, 'Release');
    await waitForResult(worker.page, 'LockReleased');
    await waitForResult(watcher.page, 'RELEASED');

    if (process.env['SCREENSHOTS'] !== undefined) {
      await watcher.page.screenshot({ path: `${process.env['SCREENSHOTS']}/graphiql-watch.png` });
      await worker.page.screenshot({ path: `${process.env['SCREENSHOTS']}/graphiql-release.png` });
    }
    expect([...watcher.complaints, ...worker.complaints]).toEqual([]);
    const own = [origin, origin.replace('http', 'ws'), `blob:${origin}`, 'data:'];
    expect([...requested].filter((asked) => !own.some((prefix) => asked.startsWith(prefix)))).toEqual([]);
    await Promise.all([watcher.page.context().close(), worker.page.context().close()]);
  });
});
