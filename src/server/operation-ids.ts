/**
 * Hands the messages of one socket to graphql-ws, which knows an operation by its id alone, until the operation has ended. That
 * may be a while after the client completed it, and has taken the id for another one: either would get what was meant for the
 * other, its end above all. So what names an id whose operation is ending waits until it has ended.
 */
export class OperationIds {
  readonly #handle: (text: string) => Promise<void>;
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #ending = new Map<string, Promise<void>>();
  #begun: string | null = null;
  #waiting = 0;

  /** @param handle resolves when the message is dealt with: a subscribe when its operation has ended. */
  constructor(handle: (text: string) => Promise<void>) {
    this.#handle = handle;
  }

  /** How many messages wait until the operation before has ended. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Takes a message. Resolves when it is dealt with. */
  take(text: string): Promise<void> {
    const ended = this.#ending.size === 0 ? undefined : this.#ending.get(idIn(text) ?? '');
    if (ended !== undefined) return this.#takeAfter(ended, text);
    // In other messages the word can't be between bare quotes, but as a name.
    if (text.includes('"complete"')) this.#complete(text);
    const done = this.#handle(text);
    const id = this.#takeBegun();
    if (id !== null) this.#begin(id, done);
    return done;
  }

  /** To be called, before `handle` returns, where its message begins an operation. */
  begins(id: string): void {
    this.#begun = id;
  }

  async #takeAfter(ended: Promise<void>, text: string): Promise<void> {
    this.#waiting += 1;
    await ended;
    this.#waiting -= 1;
    await this.take(text);
  }

  #takeBegun(): string | null {
    const id = this.#begun;
    this.#begun = null;
    return id;
  }

  #begin(id: string, done: Promise<void>): void {
    this.#underWay.set(id, done);
    const forget = () => {
      if (this.#underWay.get(id) === done) this.#underWay.delete(id);
    };
    done.then(forget, forget);
  }

  #complete(text: string): void {
    const id = idIn(text, 'complete');
    const done = id === null ? undefined : this.#underWay.get(id);
    if (id === null || done === undefined) return;
    this.#underWay.delete(id);
    const forget = () => void this.#ending.delete(id);
    this.#ending.set(id, done.then(forget, forget));
  }
}

/** The id of a message, if it is of that type; null: it has none. */
function idIn(text: string, wanted?: string): string | null {
  try {
    const { id, type } = JSON.parse(text) as { id?: unknown; type?: unknown };
    return typeof id === 'string' && (wanted === undefined || type === wanted) ? id : null;
  } catch {
    return null;
  }
}
