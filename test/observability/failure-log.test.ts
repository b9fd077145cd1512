import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FailureLog } from '../../src/observability/failure-log.js';
import { createLogger } from '../../src/observability/logger.js';

class Outage extends Error {}

interface Line {
  readonly msg: string;
  readonly reason?: string;
  readonly failures: number;
  readonly outageMs?: number;
  readonly err?: { readonly stack: string };
}

function openLog() {
  const lines: Line[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(JSON.parse(line) as Line) });
  let isOut = true;
  const log = new FailureLog(logger, {
    outageIn: (error) => (error instanceof Outage ? error.message : null),
    tryAgain: () => (isOut ? Promise.reject(new Outage()) : Promise.resolve()),
  });
  return { log, lines, recover: () => void (isOut = false) };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('an outage is told when it begins, once a minute and when it is over, without a stack', async () => {
  const { log, lines, recover } = openLog();
  for (let second = 0; second <= 60; second++) {
    log.failed(new Outage('nothing listens there'));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  recover();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(lines.map(({ msg, reason, failures }) => [msg, reason, failures])).toEqual([
    ['the database can not be used', 'nothing listens there', 1],
    ['the database can not be used', 'nothing listens there', 60],
    ['the database can be used again', undefined, 0],
  ]);
  expect(lines.at(-1)?.outageMs).toBe(62_000);
  expect(lines.filter((line) => 'err' in line)).toEqual([]);
});

test('a second outage is told as the first one', async () => {
  const { log, lines, recover } = openLog();
  recover();
  for (let outage = 0; outage < 2; outage++) {
    log.failed(new Outage('gone'));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  const [gone, back] = ['the database can not be used', 'the database can be used again'];
  expect(lines.map(({ msg }) => msg)).toEqual([gone, back, gone, back]);
});

test('whatever else fails is told with its stack, once a second, with how often', async () => {
  const { log, lines } = openLog();
  for (let n = 0; n < 15; n++) {
    log.failed(new TypeError('a fault'));
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(lines.map(({ msg, failures }) => [msg, failures])).toEqual([
    ['the engine could not do its work', 1],
    ['the engine could not do its work', 10],
  ]);
  expect(lines[0]?.err?.stack).toContain('TypeError: a fault');
});

test('a log that is closed tries nothing more', async () => {
  const { log, lines, recover } = openLog();
  log.failed(new Outage('gone'));
  log.close();
  recover();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(lines).toHaveLength(1);
});
