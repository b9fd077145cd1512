import { setTimeout as sleep } from 'node:timers/promises';
import { isRecognisedAgain } from './checker/history.js';
import { Questions, type AnyQuestion, type AnyTold, type QuestionChoices } from './questions.js';
import { SeededRandom } from './random.js';
import type { Recorder } from './recorder.js';
import { send, sendOverSocket } from './send.js';

/** Some give up before a slow answer comes, others wait for it. */
const PATIENCE_MS = { least: 300, most: 4_000 };
const TRIES = 4;
const STAY_SHARE = 0.8;
/** So many use a socket of their own, and say so when they give up. */
const SOCKET_SHARE = 0.2;

export interface LoadOptions {
  readonly seed: number;
  readonly clients: number;
  readonly choices: QuestionChoices;
  /** How many are asked by all clients together; left out: no end. Repetitions don't count. */
  readonly questions?: number;
  /** The pause between two questions of a client, at the most. */
  readonly thinkMs: number;
  /** Where the service can be reached. */
  readonly urls: readonly string[];
}

/** Clients that ask at random, one question after the other. */
export class Load {
  readonly #recorder: Recorder;
  readonly #options: LoadOptions;
  /** Resolves when every question that is asked has its answer, or has been given up. */
  readonly done: Promise<unknown>;
  #questionsLeft: number;

  constructor(recorder: Recorder, options: LoadOptions) {
    this.#recorder = recorder;
    this.#options = options;
    this.#questionsLeft = options.questions ?? Infinity;
    this.done = Promise.all(Array.from({ length: options.clients }, (_, number) => this.#work(number)));
  }

  /** Asks no further questions; as {@link done}. */
  async stop(): Promise<void> {
    this.#questionsLeft = 0;
    await this.done;
  }

  async #work(number: number): Promise<void> {
    const { seed, choices, thinkMs, urls } = this.#options;
    const name = `client ${number}`;
    const random = new SeededRandom(seed + number);
    const questions = new Questions(name, random, choices);
    let url = random.anyOf(urls);
    while (this.#questionsLeft > 0) {
      this.#questionsLeft--;
      const question = questions.next();
      let told: AnyTold;
      let tries = 0;
      do {
        told = await this.#ask(name, url, question, random);
        await sleep(random.between(0, thinkMs));
        // An instance that does not answer is left for another one.
        if (told.kind === 'unknown' || told.kind === 'not-done' || !random.chance(STAY_SHARE)) url = random.anyOf(urls);
      } while (++tries < TRIES && mayRepeat(question, told));
      questions.learn(question, told);
    }
  }

  #ask(name: string, url: string, question: AnyQuestion, random: SeededRandom): Promise<AnyTold> {
    const timeoutMs = random.integer(PATIENCE_MS.least, PATIENCE_MS.most);
    const sendIt = random.chance(SOCKET_SHARE) ? sendOverSocket : send;
    return this.#recorder.ask(name, url, question, (query, variables) => sendIt(url, query, variables, timeoutMs));
  }
}

/** Whether it may be sent again: it had no effect, or the documentation calls it safe without knowing that. */
function mayRepeat(question: AnyQuestion, { kind }: AnyTold): boolean {
  if (kind !== 'unknown') return kind === 'not-done';
  return ['renew', 'renew-all', 'read'].includes(question.kind) || isRecognisedAgain(question);
}
