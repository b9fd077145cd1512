import { setTimeout as sleep } from 'node:timers/promises';
import { httpApi } from '../faults/lock-api.js';
import { startPostgresqlServer } from '../support/postgresql.js';
import type { Call, Change } from './checker/history.js';
import { FaultSchedule } from './faults.js';
import { startInstances, type Instance } from './instances.js';
import { Load } from './load.js';
import { readLog } from './log-view.js';
import { LogWatcher } from './log-watcher.js';
import { Recorder } from './recorder.js';

const CLIENTS = 12;
const THINK_MS = 60;
/** The longest TTL of the load, and what an expiry may take to be told. */
const ALL_EXPIRED_MS = 3_000 + 1_000;
const CATCH_UP_MS = 15_000;

export interface ChaosResult {
  readonly calls: readonly Call[];
  readonly log: readonly Change[];
  readonly watchers: readonly LogWatcher[];
  readonly instances: readonly Instance[];
  /** Answers that nobody should get. */
  readonly answerFaults: readonly string[];
  /** How often each fault happened. */
  readonly faults: Readonly<Record<string, number>>;
}

/** Three instances on one database under load while things go wrong; then everything is healed, and what is left expires. */
export async function runChaos(seed: number, durationMs: number): Promise<ChaosResult> {
  const database = await startPostgresqlServer();
  const instances = await startInstances(['S1', 'S2', 'S3'], { databaseUrl: database.url });
  const urls = instances.map(({ url }) => url);
  const watchers = urls.map((url) => new LogWatcher(url));
  const recorder = new Recorder();
  const load = new Load(recorder, { seed, clients: CLIENTS, thinkMs: THINK_MS, urls });
  const schedule = new FaultSchedule(instances, database, seed);
  await schedule.run(durationMs);
  await load.stop();

  await sleep(ALL_EXPIRED_MS);
  const log = await readLog(httpApi(urls[0] as string));
  const { revision = 0n } = log.at(-1) ?? {};
  try {
    for (const watcher of watchers) await watcher.reach(revision, CATCH_UP_MS);
  } finally {
    for (const watcher of watchers) await watcher.stop();
  }
  return { calls: recorder.calls, log, watchers, instances, answerFaults: recorder.faults, faults: schedule.counts };
}
