import { ApiError, LockApi, type Answer, type LockView } from '../faults/lock-api.js';
import type { Call, LockSeen, Question, Told } from './checker/history.js';
import type { ConflictReason } from '../../src/locks/outcomes.js';
import { NoAnswer, send } from './send.js';

/** Keeps what every client asked and was told, and when. */
export class Recorder {
  readonly calls: Call[] = [];
  /** Answers that no caller should ever get, such as faults of the service that it admits. */
  readonly faults: string[] = [];

  /** Asks over HTTP, and waits no longer than so many milliseconds. No answer is one of the things to be told. */
  async ask(client: string, url: string, question: Question, timeoutMs: number): Promise<Told> {
    const api = new LockApi((query, variables) => send(url, query, variables, timeoutMs));
    const id = this.calls.length;
    const from = performance.now();
    const wallFrom = Date.now();
    // It has its place from the start: a call that never ends is part of the history, too.
    const sent: Omit<Call, 'told'> = { id, client, question, span: { from, to: Infinity }, wall: { from: wallFrom, to: Infinity } };
    this.calls.push({ ...sent, told: { kind: 'unknown' } });
    const told = await this.#outcome(api, question);
    if (told.kind === 'unknown') return told;
    this.calls[id] = { ...sent, told, span: { from, to: performance.now() }, wall: { from: wallFrom, to: Date.now() } };
    return told;
  }

  async #outcome(api: LockApi, question: Question): Promise<Told> {
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

async function put(api: LockApi, question: Question): Promise<Told> {
  const { resource } = question;
  switch (question.kind) {
    case 'acquire': {
      const { owner, ttlMs, requestId, reacquire, metadata } = question;
      const own = metadata === null ? null : (JSON.parse(metadata) as unknown);
      return toTold(await api.acquire(resource, owner, { ttlMs, requestId, reacquire, metadata: own }));
    }
    case 'renew': {
      const { owner, fencingToken, ttlMs } = question;
      return toTold(await api.renew(resource, owner, { ttlMs, fencingToken: fencingToken === null ? null : String(fencingToken) }));
    }
    case 'release': {
      const { owner, fencingToken } = question;
      return toTold(await api.release(resource, owner, fencingToken === null ? null : String(fencingToken)));
    }
    case 'read':
      return { kind: 'seen', lock: toLockSeen(await api.lock(resource)) };
  }
}

function toTold(answer: Answer): Told {
  const { __typename: typename, reacquired = false, reason } = answer;
  const lock = toLockSeen(answer.lock ?? null);
  const current = toLockSeen(answer.current ?? null);
  if (typename === 'LockAcquired' && lock !== null) return { kind: 'acquired', lock, reacquired };
  if (typename === 'LockRenewed' && lock !== null) return { kind: 'renewed', lock };
  if (typename === 'NotFound') return { kind: 'not-found' };
  if (typename === 'Forbidden') return { kind: 'forbidden', current };
  if (typename === 'Conflict') return { kind: 'conflict', reason: reason as ConflictReason, current };
  const { fencingToken, revision, releasedAt } = answer;
  if (fencingToken === undefined || revision === undefined || releasedAt === undefined) {
    throw new Error(`Not an answer: ${JSON.stringify(answer)}`);
  }
  return { kind: 'released', fencingToken: BigInt(fencingToken), revision: BigInt(revision), releasedAt: Date.parse(releasedAt) };
}

function toLockSeen(view: LockView | null): LockSeen | null {
  if (view === null) return null;
  return {
    owner: view.owner,
    fencingToken: BigInt(view.fencingToken),
    revision: BigInt(view.revision),
    acquiredAt: Date.parse(view.acquiredAt),
    expiresAt: Date.parse(view.expiresAt),
    metadata: view.metadata === null ? null : JSON.stringify(view.metadata),
  };
}
