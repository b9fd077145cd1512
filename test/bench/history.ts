import { join } from 'node:path';
import { PostgresqlServerProcess } from '../support/postgresql/server-process.js';
import { openStore } from './built.js';
import { fillHistory, LOG_EVENTS, momentOf, OLDEST, USUAL } from './history-log.js';
import { HttpLane } from './http-lanes.js';
import { benchDirectory, median, ms, ratio, table, whole } from './measure.js';
import { expectAnswer } from './operations.js';
import { startHoldfastOn } from './processes.js';

const RUNS = 11;
const HOUR_MS = 3_600_000;
const iso = (moment: number) => new Date(moment).toISOString();
const MIDDLE = momentOf(LOG_EVENTS / 2);
const token = (revision: number) => String(revision - ((revision - 1) % 4));

const FILTERS: Readonly<Record<string, object>> = {
  all: {},
  resource: { resource: USUAL.resource },
  'resource, old events alone': { resource: 'old:job' },
  'resource without events': { resource: 'nothing' },
  'resource and type': { resource: USUAL.resource, types: ['RELEASED'] },
  'prefix of nearly all': { prefix: 'group:' },
  'prefix of 1 in 100': { prefix: 'group:7:' },
  'prefix of 1 in 20,000': { prefix: USUAL.resource },
  'prefix without events': { prefix: 'nothing' },
  'prefix and owner': { prefix: 'group:', owner: USUAL.owner },
  owner: { owner: USUAL.owner },
  'owner, old events alone': { owner: 'old-owner' },
  'owner without events': { owner: 'nobody' },
  'token, new': { fencingToken: token(LOG_EVENTS) },
  'token, old': { fencingToken: token(4100) },
  'token, its acquisition pruned': { fencingToken: token(OLDEST) },
  'token of nothing': { fencingToken: '0' },
  'types, half of all': { types: ['RENEWED'] },
  'types, old events alone': { types: ['EXPIRED'] },
  'since an hour ago': { since: iso(momentOf(LOG_EVENTS) - HOUR_MS) },
  'since the middle': { since: iso(MIDDLE) },
  'until the middle': { until: iso(MIDDLE) },
  'until the first hour': { until: iso(momentOf(OLDEST) + HOUR_MS) },
  'an hour in the middle': { since: iso(MIDDLE), until: iso(MIDDLE + HOUR_MS) },
  'owner, an hour in the middle': { owner: USUAL.owner, since: iso(MIDDLE), until: iso(MIDDLE + HOUR_MS) },
};

const PAGE = `query ($filter: LockEventFilter, $first: Int, $last: Int, $after: String, $before: String) {
  lockEvents(filter: $filter, first: $first, last: $last, after: $after, before: $before) {
    edges { node { revision type at resource owner fencingToken } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;

/** Pages of the log with each kind of filter, from the newest event on and from the oldest. */
export async function benchHistory(): Promise<void> {
  const directory = benchDirectory();
  const server = await PostgresqlServerProcess.create({ shared_buffers: '512MB', max_wal_size: '4GB' });
  try {
    const urls = { SQLite: `file:${join(directory.path, 'history.db')}`, PostgreSQL: server.url };
    for (const [name, url] of Object.entries(urls)) {
      await (await openStore({ databaseUrl: url, retryWindowMs: 600_000 })).close();
      await fillHistory(url);
      await benchPages(name, url);
    }
  } finally {
    await server.remove();
    directory.remove();
  }
}

/** The pages at both ends of what a filter admits, and the ones beside them; times in milliseconds. */
const PAGES = ['newest', 'next', 'oldest', 'previous'] as const;
type Times = Record<(typeof PAGES)[number] | 'first', number[]>;

async function benchPages(name: string, databaseUrl: string): Promise<void> {
  const holdfast = await startHoldfastOn(databaseUrl, { EVENT_RETENTION_HOURS: '100000', EVENT_RETENTION_ROWS: '100000000' });
  const lane = await HttpLane.open(holdfast.url);
  const measured = new Map<string, Times>();
  // The first time of each is not counted with the others: plans and caches are made with it.
  for (const [filterName, filter] of Object.entries(FILTERS)) {
    const times: Times = { first: [], newest: [], next: [], oldest: [], previous: [] };
    measured.set(filterName, times);
    await takePages(lane, filter, () => times.first);
  }
  for (let run = 0; run < RUNS; run++) {
    for (const [filterName, times] of measured) await takePages(lane, FILTERS[filterName] ?? {}, (page) => times[page]);
  }
  lane.close();
  await holdfast.stop();
  const base = median(measured.get('all')?.newest ?? []);
  console.log(`\n${name}: a page of 50 of ${whole(LOG_EVENTS)} events, medians of ${RUNS}\n`);
  const rows = [...measured].map(([filterName, times]) => {
    const cells = PAGES.flatMap((page) => [ms(median(times[page])), ratio(median(times[page]) / base)]);
    return [filterName, ...cells, ms(Math.max(...times.first))];
  });
  console.log(table(['', ...PAGES.flatMap((page) => [page, 'to all']), 'the first time'], rows));
}

async function takePages(lane: HttpLane, filter: object, timesOf: (page: (typeof PAGES)[number]) => number[]): Promise<void> {
  const take = async (page: (typeof PAGES)[number], variables: object) => {
    const body = JSON.stringify({ query: PAGE, variables: { filter, ...variables } });
    const before = performance.now();
    const answer = await lane.post(body);
    timesOf(page).push(performance.now() - before);
    expectAnswer(answer, '"hasNextPage"');
    const cursorOf = (field: string) => new RegExp(`"${field}":"([^"]+)"`).exec(answer)?.[1] ?? null;
    return { start: cursorOf('startCursor'), end: cursorOf('endCursor') };
  };
  const newest = await take('newest', { first: 50 });
  await take('next', { first: 50, after: newest.end });
  const oldest = await take('oldest', { last: 50 });
  await take('previous', { last: 50, before: oldest.start });
}
