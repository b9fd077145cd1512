import { ApiError, LockApi, type Transport } from '../faults/lock-api.js';
import {
  isAboutSeveral,
  type Arrival,
  type Call,
  type GroupCall,
  type HoldCall,
  type HoldEnd,
  type HoldQuestion,
  type HoldTold,
  type Outage,
  type Span,
} from './checker/history.js';
import type { AnyQuestion, AnyTold } from './questions.js';
import { put } from './put.js';
import { NoAnswer } from './send.js';

/** What a client of a subscription tells of it as it goes on. */
export interface HoldRecord {
  tell(told: HoldTold): void;
  /** Only the first counts. */
  end(end: HoldEnd): void;
}

/** Keeps what every client asked and was told, and when. */
export class Recorder {
  readonly calls: Call[] = [];
  readonly groups: GroupCall[] = [];
  readonly holds: HoldCall[] = [];
  readonly outages: Outage[] = [];
  /** Answers that no caller should ever get, such as faults of the service that it admits. */
  readonly faults: string[] = [];

  /** Asks, and keeps what came of it. No answer is one of the things to be told. */
  async ask(client: string, server: string, question: AnyQuestion, send: Transport): Promise<AnyTold> {
    const calls = (isAboutSeveral(question) ? this.groups : this.calls) as (Omit<Call, 'question' | 'told'> & {
      question: AnyQuestion;
      told: AnyTold;
    })[];
    const id = calls.length;
    const { span, wall } = fromNow();
    // It has its place from the start: a call that never ends is part of the history, too.
    const sent = { id, client, server, question, span, wall };
    calls.push({ ...sent, told: { kind: 'unknown' } });
    const told = await this.#outcome(new LockApi(send), question);
    if (told.kind !== 'unknown') calls[id] = { ...sent, told, ...untilNow(sent) };
    return told;
  }

  /** A subscription is sent. */
  hold(client: string, server: string, question: HoldQuestion): HoldRecord {
    const id = this.holds.length;
    const updates: Arrival<HoldTold>[] = [];
    let hold: HoldCall = { id, client, server, question, updates, end: 'cut', ...fromNow() };
    this.holds.push(hold);
    return {
      tell: (told) => {
        updates.push({ told, at: performance.now(), wall: Date.now() });
      },
      end: (end) => {
        if (hold.span.to === Infinity) this.holds[id] = hold = { ...hold, end, ...untilNow(hold) };
      },
    };
  }

  async #outcome(api: LockApi, question: AnyQuestion): Promise<AnyTold> {
    try {
      return await put(api, question);
    } catch (error) {
      if (error instanceof NoAnswer) return { kind: 'unknown' };
      if (!(error instanceof ApiError)) throw error;
      const { code, applied } = error.extensions;
      if (code !== 'UNAVAILABLE') this.faults.push(`${question.kind}: ${JSON.stringify(error.errors)}`);
      return code === 'UNAVAILABLE' && applied === false ? { kind: 'not-done' } : { kind: 'unknown' };
    }
  }
}

interface Spans {
  readonly span: Span;
  readonly wall: Span;
}

function fromNow(): Spans {
  return { span: { from: performance.now(), to: Infinity }, wall: { from: Date.now(), to: Infinity } };
}

function untilNow({ span, wall }: Spans): Spans {
  return { span: { from: span.from, to: performance.now() }, wall: { from: wall.from, to: Date.now() } };
}
