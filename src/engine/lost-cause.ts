import type { Renewed, RenewOutcome } from '../locks/outcomes.js';
import type { WatchItem } from './watch.js';

export type LostCause =
  /** It was not renewed in time. */
  | 'EXPIRED'
  /** Re-acquired under the same owner. */
  | 'SUPERSEDED'
  /** Released by somebody who named its owner. */
  | 'RELEASED'
  /** The instance goes away, and renews it no longer: it is held until it expires. */
  | 'SHUTDOWN';

/** Why an acquisition is held no more, as the refusal of its renewal tells. */
export function causeOf(refusal: Exclude<RenewOutcome, Renewed>): LostCause {
  if (refusal.kind === 'not-found') return 'RELEASED';
  return refusal.reason === 'STALE_TOKEN' ? 'SUPERSEDED' : 'EXPIRED';
}

/** Why an acquisition is held no more, as the log tells; null: it is held. */
export function causeIn(item: WatchItem, fencingToken: bigint): LostCause | null {
  if (item.kind === 'bookmark') return null;
  if (item.kind === 'snapshot') {
    const isHeld = !item.complete || item.locks.some((lock) => lock.fencingToken === fencingToken);
    return isHeld ? null : 'EXPIRED';
  }
  const { type, fencingToken: token } = item.event;
  if (type === 'RELEASED' || type === 'EXPIRED') return token === fencingToken ? type : null;
  return token > fencingToken ? 'SUPERSEDED' : null;
}
