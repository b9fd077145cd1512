import type { AcquireCommand, ReleaseCommand, RenewCommand } from '../../../src/locks/commands.js';
import type { ConflictReason } from '../../../src/locks/outcomes.js';
import { requestKey, type Doers } from './doers.js';
import type { Call, Change, LockSeen, Tolerance } from './history.js';
import type { Row } from './replay.js';

/**
 * Which answers, of those that changed nothing, are true at which place of one resource's log. Place 0 is before the first
 * change, place n after the nth.
 */
export class Truth {
  readonly #changes: readonly Change[];
  readonly #rows: readonly (Row | null)[];
  readonly #waits: readonly Call[];
  readonly #tolerance: Tolerance;
  readonly #placeOfRequest = new Map<string, number>();
  readonly #requestOfToken = new Map<bigint, string>();
  readonly #placeOfRelease = new Map<bigint, number>();

  /** @param calls of that resource */
  constructor(
    changes: readonly Change[],
    rows: readonly (Row | null)[],
    doers: Doers,
    calls: readonly Call[],
    tolerance: Tolerance,
  ) {
    this.#changes = changes;
    this.#rows = rows;
    this.#waits = calls.filter(({ question }) => question.kind === 'acquire' && question.wait !== null);
    this.#tolerance = tolerance;
    const placeOfToken = new Map<bigint, number>();
    for (const [index, { type, fencingToken }] of changes.entries()) {
      if (type === 'ACQUIRED') placeOfToken.set(fencingToken, index + 1);
      if (type === 'RELEASED') this.#placeOfRelease.set(fencingToken, index + 1);
    }
    for (const [request, token] of doers.tokenOfRequest) {
      this.#requestOfToken.set(token, request);
      this.#placeOfRequest.set(request, placeOfToken.get(token) ?? Infinity);
    }
  }

  /** Whether the call could be answered so there, at some moment of its span. */
  isTrueAt(place: number, call: Call): boolean {
    const row = this.#rows[place - 1] ?? null;
    const { question } = call;
    switch (question.kind) {
      case 'read':
        return this.#isTrueRead(row, call);
      case 'acquire':
        return this.#isTrueAcquire(place, row, call, question);
      case 'renew':
        return this.#isTrueRenewal(row, call, question);
      case 'release':
        return this.#isTrueRelease(place, row, call, question);
    }
  }

  #isTrueRead(row: Row | null, { told, wall }: Call): boolean {
    if (told.kind !== 'seen') return false;
    const { readMs } = this.#tolerance;
    if (told.lock !== null) return isHeld(row, told.lock) && wall.from - readMs < row.expiresAt;
    return row === null || wall.to + readMs >= row.expiresAt;
  }

  #isTrueAcquire(place: number, row: Row | null, call: Call, question: AcquireCommand): boolean {
    const { told } = call;
    const { owner, requestId, reacquire } = question;
    const request = requestId === null ? null : requestKey(owner, requestId);
    const isKnown = request !== null && (this.#placeOfRequest.get(request) ?? Infinity) <= place;
    const holds = row !== null && !row.expiryRecorded && isKnown && this.#requestOfToken.get(row.fencingToken) === request;
    if (told.kind === 'acquired') {
      return holds && this.#isCurrent(row, call, told.lock) && (told.reacquired ?? row.reacquired) === row.reacquired;
    }
    if (told.kind === 'spent') return isKnown;
    if (told.kind === 'in-the-way') {
      return this.#isCurrent(row, call, told.lock) && (told.lock.owner !== owner || !reacquire || question.wait !== null);
    }
    if (told.kind !== 'conflict' || !this.#isCurrent(row, call, told.current)) return false;
    if (told.reason === 'REQUEST_SPENT') return isKnown && !holds;
    return !isKnown && this.#isTrueRefusal(told.reason, told.current, call, question);
  }

  /** @param current what is held there */
  #isTrueRefusal(reason: ConflictReason, current: LockSeen | null, call: Call, question: AcquireCommand): boolean {
    const { owner, reacquire, wait } = question;
    switch (reason) {
      case 'HELD_BY_SELF':
        return current?.owner === owner && !reacquire;
      case 'HELD_BY_ANOTHER':
        // Whoever is ready to wait does so. What is free is kept for whoever stands in line.
        return wait === null && (current === null ? this.#mayBeInLine(call) : current.owner !== owner);
      case 'DEADLOCK':
        return wait?.detectDeadlock === true && current?.owner !== owner;
      case 'WAIT_TIMEOUT':
        return wait?.waitMs != null && call.span.to - call.span.from >= wait.waitMs - this.#tolerance.commandMs;
      case 'REQUEST_SPENT':
      case 'EXPIRED':
      case 'STALE_TOKEN':
        return false;
    }
  }

  #mayBeInLine({ wall }: Call): boolean {
    return this.#waits.some((other) => other.wall.from <= wall.to && wall.from <= other.wall.to);
  }

  #isTrueRenewal(row: Row | null, call: Call, { owner, fencingToken }: RenewCommand): boolean {
    const { told } = call;
    if (told.kind === 'not-found') return row === null;
    if (told.kind === 'not-held') return !isOwnHeld(row, owner, fencingToken);
    if (told.kind !== 'conflict' || row === null || !this.#isCurrent(row, call, told.current)) return false;
    if (told.reason === 'EXPIRED') return told.current === null;
    if (told.current === null) return false;
    if (told.reason === 'HELD_BY_ANOTHER') return row.owner !== owner;
    return told.reason === 'STALE_TOKEN' && isStale(row, owner, fencingToken);
  }

  #isTrueRelease(place: number, row: Row | null, call: Call, { owner, fencingToken }: ReleaseCommand): boolean {
    const { told } = call;
    const earlier = fencingToken === null ? null : this.#releaseOf(place, owner, fencingToken);
    if (told.kind === 'released') return earlier?.revision === told.revision;
    if (earlier !== null) return false;
    if (told.kind === 'not-held') return !isOwnHeld(row, owner, fencingToken);
    if (told.kind === 'not-found') return this.#isCurrent(row, call, null);
    if (told.kind !== 'forbidden' && told.kind !== 'conflict') return false;
    if (row === null || told.current === null || !this.#isCurrent(row, call, told.current)) return false;
    if (told.kind === 'forbidden') return row.owner !== owner;
    return told.reason === 'STALE_TOKEN' && isStale(row, owner, fencingToken);
  }

  #releaseOf(place: number, owner: string, token: bigint): Change | null {
    const released = this.#placeOfRelease.get(token) ?? Infinity;
    const release = released <= place ? this.#changes[released - 1] : undefined;
    return release?.owner === owner ? release : null;
  }

  /**
   * Whether a command there is told that lock as the present one; null: that there is none. A command records a passed
   * expiry before it is decided, so what has no EXPIRED is held.
   */
  #isCurrent(row: Row | null, { wall }: Call, current: LockSeen | null): boolean {
    const { commandMs } = this.#tolerance;
    if (current === null) return row === null || (row.expiryRecorded && wall.to + commandMs >= row.expiresAt);
    return isHeld(row, current) && wall.from - commandMs < row.expiresAt;
  }
}

/** Whether the row is that lock, to the last digit, and not recorded as expired. */
function isHeld(row: Row | null, lock: LockSeen): row is Row {
  if (row === null || row.expiryRecorded) return false;
  const isSame = row.owner === lock.owner && row.fencingToken === lock.fencingToken && row.revision === lock.revision;
  return isSame && row.acquiredAt === lock.acquiredAt && row.expiresAt === lock.expiresAt && row.metadata === lock.metadata;
}

function isStale(row: Row, owner: string, fencingToken: bigint | null): boolean {
  return row.owner === owner && fencingToken !== null && fencingToken !== row.fencingToken;
}

/** Whether the owner holds it under that token; null: under any. */
function isOwnHeld(row: Row | null, owner: string, fencingToken: bigint | null): boolean {
  return row !== null && !row.expiryRecorded && row.owner === owner && !isStale(row, owner, fencingToken);
}
