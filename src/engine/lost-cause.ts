import type { LockEvent } from '../locks/events.js';
import type { Lock } from '../locks/lock.js';
import type { Renewed, RenewOutcome } from '../locks/outcomes.js';
import type { LockSelector, LogPage } from '../store/lock-store.js';

export type LostCause =
  /** It was not renewed in time. */
  | 'EXPIRED'
  /** Re-acquired under the same owner. */
  | 'SUPERSEDED'
  /** Released by somebody who named its owner. */
  | 'RELEASED'
  /** The instance goes away, and renews it no longer: it is held until it expires. */
  | 'SHUTDOWN';

/** An acquisition, and the last of its changes that is known. */
export type LastKnown = Pick<Lock, 'resource' | 'owner' | 'fencingToken' | 'revision'>;

/** What the log tells of what the selector admits, after that revision. */
export type ReadLog = (after: bigint, selector: LockSelector) => Promise<LogPage>;

/** Why an acquisition is held no more, where this event says so; null: it does not end it. */
export function causeIn({ type, fencingToken }: LockEvent, ofToken: bigint): LostCause | null {
  if (type === 'RELEASED' || type === 'EXPIRED') return fencingToken === ofToken ? type : null;
  return fencingToken > ofToken ? 'SUPERSEDED' : null;
}

/**
 * Why an acquisition is held no more, as the refusal of its renewal lets one guess: it tells of the row as it is now, which may be
 * that of a later acquisition, or gone with one.
 */
export function guessedCause(refusal: Exclude<RenewOutcome, Renewed>): LostCause {
  if (refusal.kind === 'not-found') return 'RELEASED';
  return refusal.reason === 'STALE_TOKEN' ? 'SUPERSEDED' : 'EXPIRED';
}

/**
 * Why an acquisition is held no more: the first event that ended it tells.
 *
 * The guess takes its place where the log can't tell: it is not kept from that change on any more, it is that of another history, it
 * knows no such acquisition of that owner, or the database does not answer. That the lock is lost is known all the same.
 */
export async function causeOf(lost: LastKnown, guess: LostCause, readLog: ReadLog): Promise<LostCause> {
  try {
    return (await causeInLog(lost, readLog)) ?? guess;
  } catch {
    return guess;
  }
}

async function causeInLog({ resource, owner, fencingToken, revision }: LastKnown, readLog: ReadLog): Promise<LostCause | null> {
  const selector = { resource, prefix: null, owner };
  // With that change itself: where the log does not have it, what comes after it tells of something else.
  let page = await readLog(revision - 1n, selector);
  const [known] = page.events;
  if (known?.revision !== revision || known.fencingToken !== fencingToken) return null;
  for (;;) {
    for (const event of page.events) {
      const cause = causeIn(event, fencingToken);
      if (cause !== null) return cause;
    }
    const { through } = page;
    if (through === page.revision) return null;
    page = await readLog(through, selector);
    if (page.oldestRevision > through) return null;
  }
}
