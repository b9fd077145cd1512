import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { createPostgresqlDatabase } from '../support/postgresql.js';
import { isSoak, timeLimit } from '../support/rounds.js';
import type { CounterSettings } from './counter-worker.js';
import { FaultSchedule } from './faults.js';
import { FencedRegister } from './fenced-register.js';
import { startInstances } from './instances.js';
import { freshSeed, SeededRandom } from './random.js';

const WORKERS = 4;
const DURATION_MS = isSoak ? 120_000 : 10_000;
const FROZEN_MS = { least: 100, most: 1_500 };

const PROGRAM = fileURLToPath(new URL('counter-worker.ts', import.meta.url));

interface Worker {
  freeze(): void;
  thaw(): void;
  readonly exited: Promise<number | string>;
}

function startWorker(settings: CounterSettings): Worker {
  const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM, JSON.stringify(settings)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit').then(([code, signal]: (number | string | null)[]) => code ?? signal ?? 'unknown');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return { freeze: () => void child.kill('SIGSTOP'), thaw: () => void child.kill('SIGCONT'), exited };
}

/** Stops one worker after the other wherever it is, until all have ended. */
async function freezeNowAndThen(workers: readonly Worker[], random: SeededRandom): Promise<(number | string)[]> {
  const ending = new AbortController();
  const ended = Promise.all(workers.map(({ exited }) => exited)).finally(() => ending.abort());
  while (!ending.signal.aborted) {
    const worker = random.anyOf(workers);
    worker.freeze();
    await sleep(random.between(FROZEN_MS.least, FROZEN_MS.most));
    worker.thaw();
    await sleep(random.between(FROZEN_MS.least, FROZEN_MS.most));
  }
  return ended;
}

test(
  'processes that count under the lock lose no count where the tokens are checked, whatever stops or dies meanwhile',
  { timeout: timeLimit(90_000) },
  async () => {
    const seed = freshSeed();
    const register = await FencedRegister.start();
    const instances = await startInstances(['S1', 'S2'], { databaseUrl: await createPostgresqlDatabase() });
    const urls = instances.map(({ url }) => url);
    const workers = Array.from({ length: WORKERS }, (_, number) =>
      startWorker({ seed: seed + number, urls, registerUrl: register.url, durationMs: DURATION_MS }),
    );
    const schedule = new FaultSchedule(instances.slice(0, 1), { seed, faults: ['killed', 'frozen', 'answers to commits lost'] });
    const [exits] = await Promise.all([freezeNowAndThen(workers, new SeededRandom(seed)), schedule.run(DURATION_MS)]);

    expect(exits, `seed ${seed}`).toEqual(workers.map(() => 0));
    expect(register.value, `seed ${seed}`).toBe(register.writes);
    expect(register.writes).toBeGreaterThan(WORKERS);
    // Some came too late, so the check of the tokens was needed.
    expect(register.refusals).toBeGreaterThan(0);
  },
);
