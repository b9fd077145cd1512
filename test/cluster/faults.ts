import { setTimeout as sleep } from 'node:timers/promises';
import type { PostgresqlServerProcess } from '../support/postgresql/server-process.js';
import type { Outage } from './checker/history.js';
import type { Instance } from './instances.js';
import { SeededRandom } from './random.js';

const BETWEEN_FAULTS_MS = { least: 300, most: 2_500 };
const BETWEEN_RESTARTS_OF_THE_DATABASE_MS = { least: 6_000, most: 20_000 };
const DATABASE_DOWN_MS = { least: 0, most: 2_500 };

/** @param clockOffsetMs of the process that is started, if one is. */
type Fault = (instance: Instance, random: SeededRandom, clockOffsetMs: number) => Promise<void>;

/** What can happen to one instance. Each is over when it resolves. */
const FAULTS = {
  killed: async (instance, random, clockOffsetMs) => {
    await instance.kill();
    await sleep(random.between(0, 1_500));
    await instance.restart(clockOffsetMs);
  },
  terminated: async (instance, _random, clockOffsetMs) => {
    await instance.terminate();
    await instance.restart(clockOffsetMs);
  },
  frozen: async (instance, random) => {
    instance.freeze();
    await sleep(random.between(200, 6_000));
    instance.thaw();
  },
  'database stalled': async ({ database }, random) => {
    database.stall();
    await sleep(random.between(200, 6_000));
    database.pass();
  },
  'database stalled in a message': async ({ database }, random) => {
    database.stall({ direction: random.anyOf(['toServer', 'toClient']), afterBytes: random.integer(0, 3_000) });
    await sleep(random.between(200, 6_000));
    database.pass();
  },
  'database cut': async ({ database }) => {
    database.cut();
  },
  'database cut in a message': async ({ database }, random) => {
    database.stall({ direction: random.anyOf(['toServer', 'toClient']), afterBytes: random.integer(0, 1_500) });
    await sleep(random.between(20, 300));
    database.cut();
    database.pass();
  },
  'answers to commits lost': async ({ database }, random) => {
    for (let commits = random.integer(1, 5); commits > 0; commits--) {
      database.loseAnswerTo('COMMIT', random.between(0, 1_000));
      await sleep(random.between(200, 1_000));
    }
    database.pass();
  },
  'database refused': async ({ database }, random) => {
    database.refuse();
    database.cut();
    await sleep(random.between(200, 2_000));
    database.pass();
  },
  'database slow': async ({ database }, random) => {
    database.delay(random.between(5, 150));
    await sleep(random.between(500, 3_000));
    database.pass();
  },
  'clients cut': async ({ front }) => {
    front.cut();
  },
  'answers lost': async ({ front }, random) => {
    front.stall({ direction: 'toClient', afterBytes: random.integer(0, 2_000) });
    await sleep(random.between(50, 1_000));
    front.cut();
    front.pass();
  },
  'clients stalled': async ({ front }, random) => {
    front.stall();
    await sleep(random.between(200, 3_000));
    front.pass();
  },
} satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;

/** The server, or its way to the database, is the same all the time. */
const HARMLESS_TO_PLACES: readonly FaultName[] = ['frozen', 'clients cut', 'clients stalled', 'answers lost'];

/** Within this after it is over, a server is known to be alive again: it has connected anew, and has given a sign of life. */
const RECOVERY_MS = 3_000;

/** Those that need no network to the database. */
export const FAULTS_ON_A_FILE: readonly FaultName[] = [
  'killed',
  'terminated',
  'frozen',
  'clients cut',
  'clients stalled',
  'answers lost',
];

export interface FaultOptions {
  readonly seed: number;
  /** Is stopped and killed now and then; left out: it works all the time. */
  readonly database?: PostgresqlServerProcess;
  /** What happens to instances; left out: everything. */
  readonly faults?: readonly FaultName[];
  /** How far the clocks of new processes are off; left out: not at all. */
  readonly clockOffsetsMs?: readonly number[];
}

/** Things that go wrong, chosen by a seed: the same seed makes the same choices for each instance. */
export class FaultSchedule {
  /** How often each fault happened. */
  readonly counts: Record<string, number> = {};
  readonly outages: Outage[] = [];
  readonly #instances: readonly Instance[];
  readonly #options: FaultOptions;

  constructor(instances: readonly Instance[], options: FaultOptions) {
    this.#instances = instances;
    this.#options = options;
  }

  /** Lets things go wrong for so long, then makes everything work again. */
  async run(durationMs: number): Promise<void> {
    const { seed, database } = this.#options;
    const end = performance.now() + durationMs;
    await Promise.all([
      database === undefined ? null : this.#harmDatabase(database, new SeededRandom(seed), end),
      ...this.#instances.map((instance, number) => this.#harm(instance, new SeededRandom(seed + number + 1), end)),
    ]);
    for (const instance of this.#instances) instance.heal();
    for (const instance of this.#instances) await instance.untilReady();
  }

  async #harm(instance: Instance, random: SeededRandom, end: number): Promise<void> {
    const { faults = Object.keys(FAULTS) as FaultName[], clockOffsetsMs = [0] } = this.#options;
    while (await hasTime(random, BETWEEN_FAULTS_MS, end)) {
      const name = random.anyOf(faults);
      this.#count(name);
      const from = Date.now();
      await FAULTS[name](instance, random, random.anyOf(clockOffsetsMs));
      if (!HARMLESS_TO_PLACES.includes(name)) this.#addOutage(instance.url, from);
    }
  }

  async #harmDatabase(database: PostgresqlServerProcess, random: SeededRandom, end: number): Promise<void> {
    while (await hasTime(random, BETWEEN_RESTARTS_OF_THE_DATABASE_MS, end)) {
      const isCrash = random.chance(0.5);
      this.#count(isCrash ? 'database server killed' : 'database server restarted');
      const from = Date.now();
      await (isCrash ? database.kill() : database.stop());
      await sleep(random.between(DATABASE_DOWN_MS.least, DATABASE_DOWN_MS.most));
      await database.start();
      this.#addOutage(null, from);
    }
  }

  #addOutage(server: string | null, from: number): void {
    this.outages.push({ server, from, to: Date.now() + RECOVERY_MS });
  }

  #count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }
}

/** Whether the time is not over after a pause. */
async function hasTime(random: SeededRandom, { least, most }: { least: number; most: number }, end: number): Promise<boolean> {
  const pauseMs = random.between(least, most);
  if (performance.now() + pauseMs >= end) return false;
  await sleep(pauseMs);
  return true;
}
