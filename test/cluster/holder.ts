import { setTimeout as sleep } from 'node:timers/promises';
import type { LostCause } from '../../src/engine/lost-cause.js';
import { LOCK, type Answer } from '../faults/lock-api.js';
import type { GraphQLAnswerError } from '../support/http-client.js';
import { WebSocketClient, type Message } from '../support/websocket-client.js';
import type { HoldEnd, HoldQuestion, HoldTold } from './checker/history.js';
import { toTold } from './put.js';
import type { QuestionChoices } from './questions.js';
import { SeededRandom } from './random.js';
import type { HoldRecord, Recorder } from './recorder.js';

const HOLD = `subscription ($input: HoldLockInput!) { update: holdLock(input: $input) {
  __typename
  ... on LockQueued { position }
  ... on LockAcquired { lock { ...L } reacquired }
  ... on LockRenewed { lock { ...L } }
  ... on LockLost { fencingToken cause }
  ... on Conflict { reason current { ...L } }
} } ${LOCK}`;

const HANDSHAKE_TIMEOUT_MS = 2_000;
const LISTENS_MS = { least: 100, most: 4_000 };
const PAUSE_MS = 300;

type Update =
  | { readonly __typename: 'LockQueued'; readonly position: number }
  | { readonly __typename: 'LockLost'; readonly fencingToken: string; readonly cause: LostCause }
  | Answer;

interface Payload {
  readonly data?: { readonly update: Update } | null;
  readonly errors?: readonly GraphQLAnswerError[];
}

export interface HolderOptions {
  readonly seed: number;
  readonly choices: QuestionChoices;
  readonly urls: readonly string[];
}

/** A client that holds one lock after the other by subscriptions: completes them, is cut off, and comes back with its token elsewhere. */
export class Holder {
  /** Resolves when it has stopped. */
  readonly #done: Promise<void>;
  readonly #recorder: Recorder;
  readonly #name: string;
  readonly #options: HolderOptions;
  readonly #random: SeededRandom;
  #holds = 0;
  #isStopped = false;

  constructor(recorder: Recorder, name: string, options: HolderOptions) {
    this.#recorder = recorder;
    this.#name = name;
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#done = this.#work();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  async #work(): Promise<void> {
    const { urls } = this.#options;
    let question = this.#question();
    while (!this.#isStopped) {
      const token = await this.#hold(this.#random.anyOf(urls), question);
      await sleep(this.#random.between(0, PAUSE_MS));
      const comesBack = token !== null && this.#random.chance(0.7);
      question = comesBack ? { ...question, fencingToken: token } : this.#question();
    }
  }

  #question(): HoldQuestion {
    const { owners, anyResource, ttlMs, waitMs } = this.#options.choices;
    const random = this.#random;
    return {
      kind: 'hold',
      resource: anyResource(random),
      owner: random.anyOf(owners),
      ttlMs: random.integer(ttlMs.least, ttlMs.most),
      waitMs: random.anyOf([null, 0, random.integer(waitMs.least, waitMs.most)]),
      fencingToken: null,
      metadata: JSON.stringify(`${this.#name}/${this.#holds++}`),
    };
  }

  /** Resolves to the token with which it may come back; null: it is done with that lock. */
  async #hold(url: string, question: HoldQuestion): Promise<bigint | null> {
    let client: WebSocketClient;
    try {
      client = await WebSocketClient.open(url, { handshakeTimeout: HANDSHAKE_TIMEOUT_MS });
    } catch {
      // The server can't be reached at the moment.
      return question.fencingToken;
    }
    const record = this.#recorder.hold(this.#name, url, question);
    const { resource, owner, ttlMs, waitMs, fencingToken, metadata } = question;
    const own = {
      fencingToken: fencingToken === null ? null : String(fencingToken),
      metadata: JSON.parse(metadata ?? 'null') as unknown,
    };
    client.subscribe('hold', HOLD, { input: { resource, owner, ttlMs, waitMs, ...own } });
    const completes = this.#random.chance(0.5);
    const timer = setTimeout(
      () => {
        record.end(completes ? 'completed' : 'cut');
        if (completes) client.send({ type: 'complete', id: 'hold' });
        if (completes) client.socket.close();
        else client.socket.terminate();
      },
      this.#random.between(LISTENS_MS.least, LISTENS_MS.most),
    );
    const updates: HoldTold[] = [];
    for await (const message of client) {
      const told = this.#read(message, record);
      if (told !== null) updates.push(told);
    }
    clearTimeout(timer);
    record.end('cut');
    return tokenAfter(question.fencingToken, updates);
  }

  /** Keeps what the message tells, unless the client is not there to hear it any more. */
  #read({ type, payload }: Message, record: HoldRecord): HoldTold | null {
    if (type === 'complete') record.end('over');
    const { data, errors } = (type === 'error' ? { errors: payload } : (payload ?? {})) as Payload;
    if (errors !== undefined) record.end(this.#endOf(errors));
    if (type !== 'next' || data == null) return null;
    const told = toHoldTold(data.update);
    record.tell(told);
    return told;
  }

  #endOf(errors: readonly GraphQLAnswerError[]): HoldEnd {
    const [first] = errors;
    if (first?.extensions.code !== 'UNAVAILABLE') this.#recorder.faults.push(`hold: ${JSON.stringify(errors)}`);
    return first?.extensions['applied'] === false ? 'not-done' : 'cut';
  }
}

function toHoldTold(update: Update): HoldTold {
  if (update.__typename === 'LockQueued') return { kind: 'queued', position: update.position };
  if (update.__typename === 'LockLost') return { kind: 'lost', fencingToken: BigInt(update.fencingToken), cause: update.cause };
  const told = toTold(update);
  if (told.kind === 'acquired' || told.kind === 'renewed' || told.kind === 'conflict') return told;
  throw new Error(`Not an update: ${JSON.stringify(update)}`);
}

/** The token of what may still be held after these updates; null: nothing is known to be. */
function tokenAfter(resumed: bigint | null, updates: readonly HoldTold[]): bigint | null {
  const last = updates.at(-1);
  if (last?.kind === 'acquired' || last?.kind === 'renewed') return last.lock.fencingToken;
  if (last?.kind === 'lost') return last.cause === 'SHUTDOWN' ? last.fencingToken : null;
  return last === undefined ? resumed : null;
}
