import type { AcquireCommand, NamedLock, Wait } from '../../src/locks/commands.js';
import { acquire, acquireAll, release, renew } from '../support/commands.js';
import {
  isAboutSeveral,
  isRecognisedAgain,
  type GroupQuestion,
  type GroupTold,
  type LockSeen,
  type Question,
  type Told,
} from './checker/history.js';
import type { SeededRandom } from './random.js';

const REPEATED_SHARE = 0.1;
const RECENT = 5;
const WAITING_SHARE = 0.4;
const GROUP = { least: 2, most: 4 };
const KINDS = ['acquire', 'acquire', 'renew', 'release', 'read', 'acquire-all', 'renew-all', 'release-all'] as const;

export interface QuestionChoices {
  readonly owners: readonly string[];
  readonly anyResource: (random: SeededRandom) => string;
  readonly ttlMs: { readonly least: number; readonly most: number };
  /** How long those wait who do. */
  readonly waitMs: { readonly least: number; readonly most: number };
}

export type AnyQuestion = Question | GroupQuestion;
export type AnyTold = Told | GroupTold;

/**
 * What one client asks: everything that there is to ask, mostly about what it got lately, at times about what is long gone
 * or somebody else's.
 */
export class Questions {
  readonly #client: string;
  readonly #random: SeededRandom;
  readonly #choices: QuestionChoices;
  readonly #seen: { readonly resource: string; readonly lock: LockSeen }[] = [];
  /** What was sent and may come again, as it does when a network delivers late what a client has sent once more. */
  readonly #repeatable: AnyQuestion[] = [];
  #acquires = 0;

  /** @param client no two clients have the same name: it makes their acquires distinct. */
  constructor(client: string, random: SeededRandom, choices: QuestionChoices) {
    this.#client = client;
    this.#random = random;
    this.#choices = choices;
  }

  next(): AnyQuestion {
    if (this.#repeatable.length > 0 && this.#random.chance(REPEATED_SHARE))
      return this.#random.anyOf(this.#repeatable.slice(-RECENT));
    const question = this.#new();
    if (isRecognisedAgain(question)) this.#repeatable.push(question);
    return question;
  }

  /** Takes notice of an answer: what it shows can be renewed and released. */
  learn(question: AnyQuestion, told: AnyTold): void {
    if (told.kind === 'acquired-all' || told.kind === 'renewed-all') {
      for (const [resource, lock] of told.locks) this.#seen.push({ resource, lock });
    } else if (!isAboutSeveral(question) && 'lock' in told && told.lock !== null) {
      this.#seen.push({ resource: question.resource, lock: told.lock });
    }
  }

  #new(): AnyQuestion {
    const kind = this.#random.anyOf(KINDS);
    const resource = this.#choices.anyResource(this.#random);
    if (kind === 'acquire') return { ...acquire(resource, this.#anyOwner(), this.#acquisition()), wait: this.#anyWait(true) };
    if (kind === 'acquire-all') {
      return { ...acquireAll(this.#names(), this.#anyOwner(), this.#acquisition()), wait: this.#anyWait(false) };
    }
    if (kind === 'read') return { kind, resource };
    const ttlMs = this.#random.chance(0.7) ? this.#anyTtlMs() : null;
    if (kind === 'renew-all') return { kind, ...this.#held(), ttlMs };
    if (kind === 'release-all') return { kind, ...this.#held() };
    const target = this.#target(resource);
    if (kind === 'release') return release(target.resource, target.owner, target.fencingToken);
    return renew(target.resource, target.owner, { fencingToken: target.fencingToken, ttlMs });
  }

  #acquisition(): Partial<Omit<AcquireCommand, 'kind' | 'resource' | 'wait'>> {
    const request = `${this.#client}/${this.#acquires++}`;
    return {
      ttlMs: this.#anyTtlMs(),
      requestId: this.#random.chance(0.6) ? request : null,
      reacquire: this.#random.chance(0.8),
      metadata: JSON.stringify(request),
    };
  }

  #anyOwner(): string {
    return this.#random.anyOf(this.#choices.owners);
  }

  #anyWait(mayDetectDeadlock: boolean): Wait | null {
    if (!this.#random.chance(WAITING_SHARE)) return null;
    const { least, most } = this.#choices.waitMs;
    const detectDeadlock = mayDetectDeadlock && this.#random.chance(0.2);
    return { id: '', instance: '', waitMs: this.#random.integer(least, most), detectDeadlock };
  }

  /** A few names in any order, none twice. */
  #names(): string[] {
    const count = this.#random.integer(GROUP.least, GROUP.most);
    return [...new Set(Array.from({ length: count }, () => this.#choices.anyResource(this.#random)))];
  }

  /** Mostly what one owner was seen to hold lately. */
  #held(): { owner: string; locks: NamedLock[] } {
    const first = this.#target(this.#choices.anyResource(this.#random));
    const locks = new Map([[first.resource, first.fencingToken]]);
    const own = this.#seen.slice(-RECENT).filter(({ lock }) => lock.owner === first.owner);
    for (const { resource, lock } of own) locks.set(resource, this.#random.chance(0.7) ? lock.fencingToken : null);
    for (const resource of locks.size < GROUP.least ? this.#names() : []) if (!locks.has(resource)) locks.set(resource, null);
    const named = [...locks].map(([resource, fencingToken]) => ({ resource, fencingToken }));
    return { owner: first.owner, locks: this.#random.chance(0.5) ? named : named.reverse() };
  }

  #target(anyResource: string): { resource: string; owner: string; fencingToken: bigint | null } {
    const latest = this.#seen.at(-1);
    const owner = this.#random.anyOf(this.#choices.owners);
    if (latest === undefined) return { resource: anyResource, owner, fencingToken: null };
    const { resource, lock } = this.#random.chance(0.7) ? latest : this.#random.anyOf(this.#seen);
    const fencingToken = this.#random.chance(0.7) ? lock.fencingToken : null;
    return this.#random.chance(0.8)
      ? { resource, owner: lock.owner, fencingToken }
      : { resource: anyResource, owner, fencingToken };
  }

  #anyTtlMs(): number {
    const { least, most } = this.#choices.ttlMs;
    return this.#random.integer(least, most);
  }
}
