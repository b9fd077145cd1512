import { chromium, type Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';

const CHROMIUM = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
const NO_UPDATES = ['--disable-component-update', '--disable-sync'];

/** A browser for the tests of a file: there once they run. */
export function useBrowser(): () => Browser {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: [...QUIET, ...NO_UPDATES] });
  });
  afterAll(() => browser.close());
  return () => browser;
}
