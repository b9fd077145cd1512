import { acquire, release, renew } from '../support/commands.js';
import { isRecognisedAgain, type LockSeen, type Question, type Told } from './checker/history.js';
import type { SeededRandom } from './random.js';

const REPEATED_SHARE = 0.1;
const RECENT = 5;

export interface QuestionChoices {
  readonly owners: readonly string[];
  readonly anyResource: (random: SeededRandom) => string;
  readonly ttlMs: { readonly least: number; readonly most: number };
}

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
  readonly #repeatable: Question[] = [];
  #acquires = 0;

  /** @param client no two clients have the same name: it makes their acquires distinct. */
  constructor(client: string, random: SeededRandom, choices: QuestionChoices) {
    this.#client = client;
    this.#random = random;
    this.#choices = choices;
  }

  next(): Question {
    if (this.#repeatable.length > 0 && this.#random.chance(REPEATED_SHARE))
      return this.#random.anyOf(this.#repeatable.slice(-RECENT));
    const question = this.#new();
    if (isRecognisedAgain(question)) this.#repeatable.push(question);
    return question;
  }

  /** Takes notice of an answer: what it shows can be renewed and released. */
  learn({ resource }: Question, told: Told): void {
    if ('lock' in told && told.lock !== null) this.#seen.push({ resource, lock: told.lock });
  }

  #new(): Question {
    const kind = this.#random.anyOf(['acquire', 'acquire', 'renew', 'release', 'read'] as const);
    const resource = this.#choices.anyResource(this.#random);
    if (kind === 'acquire') return this.#acquire(resource);
    if (kind === 'read') return { kind, resource };
    const target = this.#target(resource);
    if (kind === 'release') return release(target.resource, target.owner, target.fencingToken);
    return renew(target.resource, target.owner, {
      fencingToken: target.fencingToken,
      ttlMs: this.#random.chance(0.7) ? this.#anyTtlMs() : null,
    });
  }

  #acquire(resource: string): Question {
    const request = `${this.#client}/${this.#acquires++}`;
    return acquire(resource, this.#random.anyOf(this.#choices.owners), {
      ttlMs: this.#anyTtlMs(),
      requestId: this.#random.chance(0.6) ? request : null,
      reacquire: this.#random.chance(0.8),
      metadata: JSON.stringify(request),
    });
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
