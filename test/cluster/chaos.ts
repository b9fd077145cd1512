import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { httpApi } from '../faults/lock-api.js';
import { startPostgresqlServer } from '../support/postgresql.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import type { Change, History } from './checker/history.js';
import type { TicketedGrant } from './checker/tickets.js';
import type { ChaosSettings } from './chaos-settings.js';
import { FaultSchedule, FAULTS_ON_A_FILE } from './faults.js';
import { Holder } from './holder.js';
import { startInstances, type Instance } from './instances.js';
import { LineWatcher } from './line-watcher.js';
import { Load } from './load.js';
import { readLog } from './log-view.js';
import { LogWatcher } from './log-watcher.js';
import type { QuestionChoices } from './questions.js';
import { Recorder } from './recorder.js';

const CLIENTS = 16;
const HOLDERS = 6;
const THINK_MS = 50;

const HOT_RESOURCES = 3;
const COLD_RESOURCES = 200;
const HOT_SHARE = 0.6;
const TTL_MS = { least: 200, most: 3_000 };

const CHOICES: QuestionChoices = {
  owners: ['anna', 'ben', 'carl', 'dora'],
  anyResource: (random) =>
    random.chance(HOT_SHARE) ? `hot:${random.integer(1, HOT_RESOURCES)}` : `cold:${random.integer(1, COLD_RESOURCES)}`,
  ttlMs: TTL_MS,
  waitMs: { least: 20, most: 3_000 },
};

/** Every lock has expired by then, and the expiry is in the log. */
const ALL_EXPIRED_MS = TTL_MS.most + 2_000;
const CATCH_UP_MS = 15_000;

export interface ChaosResult {
  readonly history: History;
  readonly log: readonly Change[];
  /** Of those who stood in line. */
  readonly turns: readonly TicketedGrant[];
  readonly watchers: readonly LogWatcher[];
  readonly instances: readonly Instance[];
  /** Answers that nobody should get. */
  readonly answerFaults: readonly string[];
  /** How often each fault happened. */
  readonly faults: Readonly<Record<string, number>>;
}

export interface ChaosOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly database: ChaosSettings['database'];
}

/** The databases that instances can share, and what can go wrong with each. */
const DATABASES = {
  postgresql: async () => {
    const database = await startPostgresqlServer();
    return { url: database.url, faults: { database, clockOffsetsMs: [0, 180_000, -180_000] } };
  },
  // The clock of the processes is that of the locks, so they agree on it; the machine's never differ.
  sqlite: async () => ({ url: `file:${join(temporaryDirectory(), 'holdfast.db')}`, faults: { faults: FAULTS_ON_A_FILE } }),
};

/** Three instances on one database under load while things go wrong; then everything is healed, and what is left expires. */
export async function runChaos({ seed, durationMs, database }: ChaosOptions): Promise<ChaosResult> {
  const { url: databaseUrl, faults } = await DATABASES[database]();
  const instances = await startInstances(['S1', 'S2', 'S3'], { databaseUrl });
  const urls = instances.map(({ url }) => url);
  const watchers = urls.map((url) => new LogWatcher({ urls: [url] }));
  const lines = new LineWatcher(databaseUrl);
  const recorder = new Recorder();
  const load = new Load(recorder, { seed, clients: CLIENTS, choices: CHOICES, thinkMs: THINK_MS, urls });
  const holders = Array.from({ length: HOLDERS }, (_, number) => {
    return new Holder(recorder, `holder ${number}`, { seed: seed - number - 1, choices: CHOICES, urls });
  });
  const schedule = new FaultSchedule(instances, { seed, ...faults });
  await schedule.run(durationMs);
  await Promise.all([load.stop(), ...holders.map((holder) => holder.stop())]);

  await sleep(ALL_EXPIRED_MS);
  const turns = await lines.stop();
  const log = await readLog(httpApi(urls[0] as string));
  const { revision = 0n } = log.at(-1) ?? {};
  try {
    for (const watcher of watchers) await watcher.reach(revision, CATCH_UP_MS);
  } finally {
    for (const watcher of watchers) await watcher.stop();
  }
  recorder.outages.push(...schedule.outages);
  return { history: recorder, log, turns, watchers, instances, answerFaults: recorder.faults, faults: schedule.counts };
}
