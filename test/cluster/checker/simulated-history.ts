import { Questions, type AnyQuestion, type AnyTold, type QuestionChoices } from '../questions.js';
import { SeededRandom } from '../random.js';
import { isAboutSeveral, type Call, type Change, type GroupCall, type History, type Span } from './history.js';
import { Agenda, SimulatedService } from './simulation.js';

const CHOICES: QuestionChoices = {
  owners: ['anna', 'ben', 'carl'],
  anyResource: (random) => random.anyOf(['job:1', 'job:2']),
  ttlMs: { least: 5, most: 60 },
  waitMs: { least: 1, most: 60 },
};
const CLIENTS = 6;
const LENGTH_MS = 1_500;
/** Every span of the simulation is over by then. */
const SETTLE_MS = 500;
const TRAVEL_MS = 6;
const TIMEOUT_MS = 15;
const LATE_ARRIVAL_MS = 80;

export interface SimulatedHistory extends History {
  readonly log: readonly Change[];
}

/**
 * What a few clients are told by a service that keeps the rules, their calls overlapping in every way.
 *
 * @param lossShare how many of the calls get no answer; half of those arrive all the same, perhaps much later.
 */
export function simulateHistory(seed: number, lossShare: number): SimulatedHistory {
  const random = new SeededRandom(seed);
  const agenda = new Agenda();
  const service = new SimulatedService(agenda, random);
  const calls: Call[] = [];
  const groups: GroupCall[] = [];
  const end = agenda.now + LENGTH_MS;
  for (let client = 0; client < CLIENTS; client++) {
    new SimulatedClient(`client ${client}`, { agenda, service, random, calls, groups, lossShare, end }).start();
  }
  agenda.runUntil(end + SETTLE_MS);
  return { calls, groups, holds: [], outages: [], log: service.log };
}

interface Surroundings {
  readonly agenda: Agenda;
  readonly service: SimulatedService;
  readonly random: SeededRandom;
  readonly calls: Call[];
  readonly groups: GroupCall[];
  readonly lossShare: number;
  readonly end: number;
}

class SimulatedClient {
  readonly #name: string;
  readonly #around: Surroundings;
  readonly #questions: Questions;

  constructor(name: string, around: Surroundings) {
    this.#name = name;
    this.#around = around;
    this.#questions = new Questions(name, around.random, CHOICES);
  }

  start(): void {
    const { agenda, random, end } = this.#around;
    agenda.after(random.between(0, 10), () => {
      if (agenda.now < end) this.#ask(this.#questions.next());
    });
  }

  /** Sends it, again and again where no answer comes, then goes on with something else. */
  #ask(question: AnyQuestion): void {
    const { agenda, random, lossShare } = this.#around;
    const from = agenda.now;
    let isAnswered = false;
    const answer = (told: AnyTold) => {
      if (isAnswered) return;
      isAnswered = true;
      this.#keep(question, told, { from, to: told.kind === 'unknown' ? Infinity : agenda.now });
      if (told.kind === 'unknown' && random.chance(0.7)) this.#ask(question);
      else this.start();
    };
    if (!random.chance(lossShare)) {
      const arrive = () => void this.#deliver(question, (told) => agenda.after(random.between(0, TRAVEL_MS), () => answer(told)));
      agenda.after(random.between(0, TRAVEL_MS), arrive);
      return;
    }
    let leave = () => undefined as unknown;
    if (random.chance(0.5)) {
      agenda.after(random.between(0, LATE_ARRIVAL_MS), () => (leave = this.#deliver(question, () => undefined)));
    }
    agenda.after(TIMEOUT_MS, () => answer({ kind: 'unknown' }));
    // That the caller is gone is noticed late, too.
    agenda.after(TIMEOUT_MS + random.between(0, LATE_ARRIVAL_MS), () => leave());
  }

  #keep(question: AnyQuestion, told: AnyTold, span: Span): void {
    const { calls, groups } = this.#around;
    const kept = (isAboutSeveral(question) ? groups : calls) as object[];
    kept.push({ id: kept.length, client: this.#name, server: 'S', question, told, span, wall: span });
    this.#questions.learn(question, told);
  }

  #deliver(question: AnyQuestion, resolve: (told: AnyTold) => void): () => unknown {
    const { service } = this.#around;
    if (question.kind !== 'read') return service.submit(question, resolve);
    service.read(question.resource, resolve);
    return () => undefined;
  }
}
