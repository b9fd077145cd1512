import type { AcquireCommand, ReleaseCommand, RenewCommand } from '../../../src/locks/commands.js';
import {
  isRecognisedAgain,
  type Call,
  type Change,
  type LockSeen,
  type Question,
  type Told,
  type Tolerance,
  type Violation,
} from './history.js';
import { matchAll } from './matching.js';
import type { Row } from './replay.js';
import type { UnaskedChanges } from './unasked.js';

/** Who made each change of one resource. */
export interface Doers {
  /** The call that made the change of that revision; an expiry is nobody's doing. */
  readonly byRevision: ReadonlyMap<bigint, Call>;
  /** The token that a request acquired, by {@link requestKey}. */
  readonly tokenOfRequest: ReadonlyMap<string, bigint>;
  /** What the service did by itself. */
  readonly unasked: ReadonlySet<bigint>;
}

type CallOf<Q extends Question> = Call & { readonly question: Q };

/** What a repeated acquire is recognised by, within one resource. */
export function requestKey(owner: string, requestId: string): string {
  return JSON.stringify([owner, requestId]);
}

/**
 * Finds for each change the call that made it: one that was told so, else one whose outcome is unknown. Where several may
 * have made it the one that was sent first counts; the others then were repetitions, which changes nothing that anybody
 * could see.
 */
export class DoerSearch {
  readonly #unasked: UnaskedChanges;
  readonly #tolerance: Tolerance;
  readonly #calls: readonly Call[];
  readonly #lost: readonly Call[];
  readonly #told = new Map<bigint, Call[]>();
  readonly #byRevision = new Map<bigint, Call>();
  readonly #tokenOfRequest = new Map<string, bigint>();
  readonly #used = new Set<Call>();
  readonly #found = new Set<bigint>();

  /** @param calls of one resource. */
  constructor(calls: readonly Call[], unasked: UnaskedChanges, tolerance: Tolerance) {
    this.#unasked = unasked;
    this.#tolerance = tolerance;
    this.#calls = [...calls].sort((one, other) => one.span.from - other.span.from);
    this.#lost = this.#calls.filter(({ told }) => told.kind === 'unknown');
    for (const call of this.#calls) {
      const revision = revisionTold(call.told);
      if (revision === null) continue;
      const others = this.#told.get(revision);
      if (others === undefined) this.#told.set(revision, [call]);
      else others.push(call);
    }
  }

  /** @param rows what each of the changes left. */
  find(changes: readonly Change[], rows: readonly (Row | null)[]): Doers | Violation {
    const violation = this.#findAll(changes, rows) ?? this.#findUnlogged(changes);
    return violation ?? { byRevision: this.#byRevision, tokenOfRequest: this.#tokenOfRequest, unasked: this.#found };
  }

  #findAll(changes: readonly Change[], rows: readonly (Row | null)[]): Violation | null {
    const open: Change[] = [];
    const rowBefore = new Map(changes.map(({ revision }, index) => [revision, rows[index - 1] ?? null]));
    for (const [index, change] of changes.entries()) {
      if (change.type === 'EXPIRED') continue;
      const doer = this.#surest(change, rowBefore.get(change.revision) ?? null).find((call) => this.#isInTime(call, change));
      if (doer === undefined) {
        open.push(change);
        continue;
      }
      const violation = this.#assign(change, doer, rows[index] ?? null);
      if (violation !== null) return violation;
    }
    const left = this.#lost.filter((call) => !this.#used.has(call));
    const candidates = (change: Change) =>
      left.filter((call) => mayHaveMade(call, change, rowBefore.get(change.revision) ?? null) && this.#isInTime(call, change));
    // What somebody must have asked for comes first: it keeps its partner when others look for one.
    const mayBeUnasked = (change: Change) => this.#unasked.mayBe(change, rowBefore.get(change.revision) ?? null);
    const optional = open.filter(mayBeUnasked);
    const { matches, unmatched } = matchAll([...open.filter((change) => !optional.includes(change)), ...optional], candidates);
    for (const [change, call] of matches) this.#byRevision.set(change.revision, call);
    for (const { revision } of optional) if (!this.#byRevision.has(revision)) this.#found.add(revision);
    return unmatched === null || optional.includes(unmatched)
      ? null
      : { problem: 'a change that nobody asked for', resource: unmatched.resource, change: unmatched };
  }

  /** Those of which nobody could have made another change instead, the best first. */
  #surest(change: Change, before: Row | null): readonly Call[] {
    const told = (this.#told.get(change.revision) ?? []).filter(
      (call) => tellsOf(call, change) && mayHaveMade(call, change, before),
    );
    // Such a call is not recognised when it comes again: if it was told of the change, it made it.
    const makers = told.filter((call) => !isRecognisedAgain(call.question));
    if (makers.length > 0) return makers;
    const alike = this.#lost.filter((call) => namesAcquisition(call) && !this.#used.has(call) && mayHaveMade(call, change, before));
    return [...told, ...alike].sort((one, other) => one.span.from - other.span.from);
  }

  #assign(change: Change, doer: Call, row: Row | null): Violation | null {
    const { resource, fencingToken } = change;
    this.#byRevision.set(change.revision, doer);
    this.#used.add(doer);
    if (!isOf(doer, 'acquire')) return null;
    const { owner, requestId, reacquire } = doer.question;
    const reacquired = row?.reacquired ?? false;
    if ((reacquired && !reacquire) || (doer.told.kind === 'acquired' && (doer.told.reacquired ?? reacquired) !== reacquired)) {
      return { problem: 'a re-acquire that was not allowed or not told', resource, change, call: doer };
    }
    if (requestId === null) return null;
    const request = requestKey(owner, requestId);
    if (this.#tokenOfRequest.has(request)) return { problem: 'one request acquired twice', resource, change, call: doer };
    this.#tokenOfRequest.set(request, fencingToken);
    return null;
  }

  #isInTime({ wall }: Call, { at }: Change): boolean {
    const { commandMs } = this.#tolerance;
    return wall.from - commandMs <= at && at <= wall.to + commandMs;
  }

  /** Whoever was told of a change: it is in the log as it was told, and was not told to anybody else. */
  #findUnlogged(changes: readonly Change[]): Violation | null {
    const byRevision = new Map(changes.map((change) => [change.revision, change]));
    for (const call of this.#calls) {
      const revision = revisionTold(call.told);
      if (revision === null) continue;
      const { resource } = call.question;
      const change = byRevision.get(revision);
      if (change === undefined || !tellsOf(call, change))
        return { problem: 'told of a change that is not in the log', resource, call };
      if (!isRecognisedAgain(call.question) && this.#byRevision.get(revision) !== call) {
        return { problem: 'told of a change that was made for another call', resource, call, change };
      }
    }
    return null;
  }
}

/** Whether it says itself which acquisition it makes or ends. */
function namesAcquisition(call: Call): boolean {
  return isOf(call, 'acquire') || (isOf(call, 'release') && call.question.fencingToken !== null);
}

/** Whether the call asked for exactly that change, where it found that row. */
function mayHaveMade(call: Call, change: Change, before: Row | null): boolean {
  const { question } = call;
  switch (question.kind) {
    case 'acquire':
      return change.type === 'ACQUIRED' && asksToAcquire(question, change);
    case 'renew':
      return change.type === 'RENEWED' && asksToRenew(question, change, before);
    case 'release':
      return change.type === 'RELEASED' && isOwnerOf(question, change);
    case 'read':
      return false;
  }
}

function asksToAcquire({ owner, ttlMs, metadata }: AcquireCommand, change: Change): boolean {
  return owner === change.owner && metadata === change.metadata && ttlMs === change.expiresAt - change.at;
}

function asksToRenew(question: RenewCommand, change: Change, before: Row | null): boolean {
  if (before === null || !isOwnerOf(question, change)) return false;
  return change.expiresAt === Math.max(before.expiresAt, change.at + (question.ttlMs ?? before.ttlMs));
}

function isOwnerOf({ owner, fencingToken }: ReleaseCommand | RenewCommand, change: Change): boolean {
  return owner === change.owner && (fencingToken === null || fencingToken === change.fencingToken);
}

/** The revision of the change that the answer acknowledges; null where it acknowledges none. */
function revisionTold(told: Told): bigint | null {
  if (told.kind === 'acquired' || told.kind === 'renewed') return told.lock.revision;
  return told.kind === 'released' ? told.revision : null;
}

/** Whether the answer shows what the log tells; a repeated acquire may show a later change of what it had acquired. */
function tellsOf({ question, told }: Call, change: Change): boolean {
  if (told.kind === 'released') {
    return change.type === 'RELEASED' && told.fencingToken === change.fencingToken && told.releasedAt === change.at;
  }
  if (told.kind !== 'acquired' && told.kind !== 'renewed') return false;
  const isOfOwnRequest = question.kind !== 'acquire' || question.metadata === change.metadata;
  const canBeTold = change.type === 'RENEWED' || (change.type === 'ACQUIRED' && told.kind === 'acquired');
  return isOfOwnRequest && canBeTold && isView(told.lock, change);
}

function isView(lock: LockSeen, { owner, fencingToken, revision, acquiredAt, expiresAt, metadata }: Change): boolean {
  const isSame = lock.owner === owner && lock.fencingToken === fencingToken && lock.revision === revision;
  return isSame && lock.acquiredAt === acquiredAt && lock.expiresAt === expiresAt && lock.metadata === metadata;
}

function isOf<K extends Question['kind']>(call: Call, kind: K): call is CallOf<Extract<Question, { kind: K }>> {
  return call.question.kind === kind;
}
