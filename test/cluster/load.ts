import { setTimeout as sleep } from 'node:timers/promises';
import type { Question, Told } from './checker/history.js';
import { Questions, type QuestionChoices } from './questions.js';
import { SeededRandom } from './random.js';
import type { Recorder } from './recorder.js';

const HOT_RESOURCES = 3;
const COLD_RESOURCES = 200;
const HOT_SHARE = 0.6;

const CHOICES: QuestionChoices = {
  owners: ['anna', 'ben', 'carl', 'dora'],
  anyResource: (random) =>
    random.chance(HOT_SHARE) ? `hot:${random.integer(1, HOT_RESOURCES)}` : `cold:${random.integer(1, COLD_RESOURCES)}`,
  ttlMs: { least: 200, most: 3_000 },
};

/** Some give up before a slow answer comes, others wait for it. */
const PATIENCE_MS = { least: 300, most: 4_000 };
const TRIES = 4;
const STAY_SHARE = 0.8;

export interface LoadOptions {
  readonly seed: number;
  readonly clients: number;
  /** The pause between two questions of a client, at the most. */
  readonly thinkMs: number;
  /** Where the service can be reached. */
  readonly urls: readonly string[];
}

/** Clients that ask at random, one question after the other. */
export class Load {
  readonly #recorder: Recorder;
  readonly #options: LoadOptions;
  readonly #working: Promise<unknown>;
  #isStopped = false;

  constructor(recorder: Recorder, options: LoadOptions) {
    this.#recorder = recorder;
    this.#options = options;
    this.#working = Promise.all(Array.from({ length: options.clients }, (_, number) => this.#work(number)));
  }

  /** Resolves when every question that was asked has its answer, or has been given up. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#working;
  }

  async #work(number: number): Promise<void> {
    const { seed, thinkMs, urls } = this.#options;
    const name = `client ${number}`;
    const random = new SeededRandom(seed + number);
    const questions = new Questions(name, random, CHOICES);
    let url = random.anyOf(urls);
    while (!this.#isStopped) {
      const question = questions.next();
      let told: Told = { kind: 'not-done' };
      for (let tries = 0; tries < TRIES && !this.#isStopped; tries++) {
        // An instance that does not answer is left for another one.
        if (tries > 0 || !random.chance(STAY_SHARE)) url = random.anyOf(urls);
        told = await this.#recorder.ask(name, url, question, random.integer(PATIENCE_MS.least, PATIENCE_MS.most));
        if (told.kind !== 'not-done' && (told.kind !== 'unknown' || !canRepeat(question))) break;
        await sleep(random.between(0, thinkMs));
      }
      questions.learn(question, told);
      await sleep(random.between(0, thinkMs));
    }
  }
}

/** Whether the documentation calls it safe to send it again without knowing what became of it. */
function canRepeat(question: Question): boolean {
  if (question.kind === 'acquire') return question.requestId !== null;
  return question.kind !== 'release' || question.fencingToken !== null;
}
