import { resourcesOf, type Command } from '../../src/locks/commands.js';
import type { Lock } from '../../src/locks/lock.js';
import type { Outcome } from '../../src/locks/outcomes.js';
import { LineModel } from '../locks/line-model.js';
import { prepare, RESOURCES, type Prepared, type Step } from '../locks/scripts.js';
import type { ManualTime } from '../support/manual-time.js';
import { acknowledgedBy, type Acknowledged } from './log-checks.js';
import type { Answer, LockApi, LockView } from './lock-api.js';

/**
 * Plays a script on the service and on the model at the same moments, and keeps what both say in a form that can be
 * compared. The service's tokens are not the model's, since its sweeper writes when it likes: in place of a token stands
 * its acquisition's place among all.
 */
export class ScriptedClient {
  readonly answers: unknown[] = [];
  readonly expectedAnswers: unknown[] = [];
  readonly reads: unknown[] = [];
  readonly expectedReads: unknown[] = [];
  readonly acknowledged: Acknowledged[] = [];
  readonly #api: LockApi;
  readonly #time: ManualTime;
  readonly #prefix: string;
  readonly #model = new LineModel();
  /** The service's token of each acquisition of the model, in their order. */
  readonly #tokens: string[] = [];

  constructor(api: LockApi, time: ManualTime, prefix: string) {
    this.#api = api;
    this.#time = time;
    this.#prefix = prefix;
  }

  /** Lets time pass, sends the commands one after the other, and reads everything. */
  async play(step: Step): Promise<void> {
    this.#time.advance(step.advanceMs);
    this.#model.startGroup(this.#time.wall, RESOURCES);
    for (const prepared of prepare(step, [])) await this.#ask(prepared);
    await this.#read();
  }

  async #ask(prepared: Prepared): Promise<void> {
    const command = prepared.resolve(this.#model);
    const [resource = ''] = resourcesOf(command);
    const before = this.#model.locks.acquisitions.length;
    const expected = this.#model.answer(command);
    const answer = await this.#send(command, this.#prefix + resource);
    if (this.#model.locks.acquisitions.length > before) this.#tokens.push(answer.lock?.fencingToken ?? 'none');
    this.answers.push(this.#seen(answer));
    this.expectedAnswers.push(this.#foreseen(expected));
    this.#note(acknowledgedBy(answer, this.#prefix + resource, 'owner' in command ? command.owner : ''));
  }

  #send(command: Command, resource: string): Promise<Answer> {
    switch (command.kind) {
      case 'acquire': {
        const { owner, ttlMs, requestId, reacquire, metadata } = command;
        return this.#api.acquire(resource, owner, { ttlMs, requestId, reacquire, metadata: parsed(metadata) });
      }
      case 'release':
        return this.#api.release(resource, command.owner, this.#tokenFor(command.fencingToken));
      case 'renew':
        return this.#api.renew(resource, command.owner, {
          fencingToken: this.#tokenFor(command.fencingToken),
          ttlMs: command.ttlMs,
        });
      case 'acquire-all':
      case 'release-all':
      case 'renew-all':
      case 'expire':
      case 'leave':
        throw new Error(`No script without lines has a command of the kind ${command.kind}`);
    }
  }

  async #read(): Promise<void> {
    const entries = RESOURCES.map((name) => this.#model.locks.entries[name]);
    const held = entries.filter((entry) => entry !== undefined && this.#time.wall < entry.expiresAt);
    this.expectedReads.push(held.map((entry) => this.#foreseenLock(entry ?? null)));
    this.reads.push((await this.#api.locks({ prefix: this.#prefix })).map((lock) => this.#seenLock(lock)));
    for (const name of RESOURCES) {
      this.expectedReads.push(this.#foreseenLock(held.find((entry) => entry?.resource === name) ?? null));
      this.reads.push(this.#seenLock(await this.#api.lock(this.#prefix + name)));
    }
  }

  /** Repeated answers acknowledge the same change again: an acquisition or a release that is known is not another one. */
  #note(acknowledged: Acknowledged | null): void {
    if (acknowledged === null) return;
    if (this.acknowledged.every(({ revision }) => revision !== acknowledged.revision)) this.acknowledged.push(acknowledged);
  }

  #tokenFor(modelToken: bigint | null): string | null {
    if (modelToken === null) return null;
    return this.#tokens[this.#ordinalOf(modelToken)] ?? String(modelToken);
  }

  #ordinalOf(modelToken: bigint): number {
    return this.#model.locks.acquisitions.findIndex(({ token }) => token === modelToken);
  }

  #seen({ __typename: typename, lock, reacquired, reason, current, fencingToken, releasedAt }: Answer): unknown {
    const acquisition = fencingToken === undefined ? undefined : this.#tokens.indexOf(fencingToken);
    const locks = { lock: this.#seenLock(lock ?? null), current: this.#seenLock(current ?? null) };
    return { typename, ...locks, reacquired, reason, acquisition, releasedAt };
  }

  #seenLock(lock: LockView | null): unknown {
    if (lock === null) return null;
    const { resource, owner, fencingToken, acquiredAt, expiresAt, metadata } = lock;
    return { resource, owner, acquisition: this.#tokens.indexOf(fencingToken), acquiredAt, expiresAt, metadata };
  }

  #foreseen(outcome: Outcome): unknown {
    const typename = TYPENAMES[outcome.kind];
    const nothing = {
      lock: null,
      reacquired: undefined,
      reason: undefined,
      current: null,
      acquisition: undefined,
      releasedAt: undefined,
    };
    switch (outcome.kind) {
      case 'acquired':
        return { ...nothing, typename, lock: this.#foreseenLock(outcome.lock), reacquired: outcome.reacquired };
      case 'renewed':
        return { ...nothing, typename, lock: this.#foreseenLock(outcome.lock) };
      case 'released':
        return { ...nothing, typename, acquisition: this.#ordinalOf(outcome.fencingToken), releasedAt: moment(outcome.releasedAt) };
      case 'conflict':
        return { ...nothing, typename, reason: outcome.reason, current: this.#foreseenLock(outcome.current) };
      case 'forbidden':
        return { ...nothing, typename, current: this.#foreseenLock(outcome.current) };
      case 'not-found':
        return { ...nothing, typename };
      case 'acquired-all':
      case 'released-all':
      case 'renewed-all':
      case 'queued':
      case 'left':
      case 'not-in-line':
      case 'settled':
        throw new Error(`No script without lines has an outcome of the kind ${outcome.kind}`);
    }
  }

  #foreseenLock(lock: Lock | null): unknown {
    if (lock === null) return null;
    const { resource, owner, fencingToken, metadata } = lock;
    const [acquiredAt, expiresAt] = [moment(lock.acquiredAt), moment(lock.expiresAt)];
    const acquisition = this.#ordinalOf(fencingToken);
    return { resource: this.#prefix + resource, owner, acquisition, acquiredAt, expiresAt, metadata: parsed(metadata) };
  }
}

const TYPENAMES: Readonly<Partial<Record<Outcome['kind'], string>>> = {
  acquired: 'LockAcquired',
  renewed: 'LockRenewed',
  released: 'LockReleased',
  conflict: 'Conflict',
  forbidden: 'Forbidden',
  'not-found': 'NotFound',
};

const moment = (epochMs: number) => new Date(epochMs).toISOString();

const parsed = (metadata: string | null): unknown => (metadata === null ? null : JSON.parse(metadata));
