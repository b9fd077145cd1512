import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { httpApi } from '../faults/lock-api.js';
import { createMigratedPostgresqlDatabase } from '../support/postgresql.js';
import { withClient } from '../support/postgresql/client.js';
import { rounds, timeLimit } from '../support/rounds.js';
import { findViolation } from './checker/checker.js';
import { describe } from './checker/history.js';
import { startInstances } from './instances.js';
import { Load } from './load.js';
import { readLog } from './log-view.js';
import { LogWatcher } from './log-watcher.js';
import type { QuestionChoices } from './questions.js';
import { freshSeed } from './random.js';
import { Recorder } from './recorder.js';

const OPERATIONS = rounds(20_000, 2_000);
const WORKERS = 40;
const RESOURCES = 400;
const RESUME_MS = 50;

/** A third of the groups is seen by others only after a while, though it was decided long before. */
const SLOW_COMMITS = `
  CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF random() < 0.3 THEN PERFORM pg_sleep(random() * 0.05); END IF;
    RETURN NULL;
  END $$;
  CREATE CONSTRAINT TRIGGER dawdle_at_commit AFTER UPDATE ON lock_clock
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle()`;

const CHOICES: QuestionChoices = {
  owners: ['anna', 'ben', 'carl', 'dora'],
  anyResource: (random) => `job:${random.integer(1, RESOURCES)}`,
  ttlMs: { least: 500, most: 60_000 },
  waitMs: { least: 1, most: 200 },
};

test(
  'changes of two instances that commit late are told once each, in their order, to a watch that resumes all the time',
  { timeout: timeLimit(90_000) },
  async () => {
    const databaseUrl = await createMigratedPostgresqlDatabase();
    await withClient(databaseUrl, (client) => client.query(SLOW_COMMITS));
    const instances = await startInstances(['S1', 'S2'], { databaseUrl });
    const urls = instances.map(({ url }) => url);
    const steady = new LogWatcher({ urls });
    const restless = new LogWatcher({ urls, resumeAfterMs: 0 });
    const recorder = new Recorder();
    const seed = freshSeed();
    const load = new Load(recorder, { seed, clients: WORKERS, choices: CHOICES, questions: OPERATIONS, thinkMs: 0, urls });
    const ending = new AbortController();
    const done = load.done.finally(() => ending.abort());
    while (!ending.signal.aborted) {
      await sleep(RESUME_MS);
      restless.cut();
    }
    await done;

    const log = await readLog(httpApi(urls[0]!));
    const { revision = 0n } = log.at(-1) ?? {};
    for (const watcher of [steady, restless]) {
      await watcher.reach(revision, 10_000);
      await watcher.stop();
      expect(watcher.faults).toEqual([]);
      // What expires meanwhile comes after.
      expect(watcher.changes.slice(0, log.length)).toEqual(log);
    }
    expect(log.map((change) => change.revision)).toEqual(log.map((_, index) => BigInt(index + 1)));
    const violation = findViolation(recorder, log, { commandMs: 20, readMs: 20 });
    expect(violation === null ? null : describe(violation), `seed ${seed}`).toBeNull();
    expect(restless.subscriptions).toBeGreaterThan(10);
    expect(log.length).toBeGreaterThan(OPERATIONS / 4);
  },
);
