import type { AcquireAllOutcome, AcquireOutcome, ReleaseOutcome, RenewOutcome } from '../locks/outcomes.js';

type Answer = AcquireOutcome | AcquireAllOutcome | ReleaseOutcome | RenewOutcome;

const TYPE_OF_KIND = {
  acquired: 'LockAcquired',
  'acquired-all': 'LocksAcquired',
  released: 'LockReleased',
  renewed: 'LockRenewed',
  'not-found': 'NotFound',
  forbidden: 'Forbidden',
  conflict: 'Conflict',
} as const satisfies Record<Answer['kind'], string>;

/** The member of a result union that shows the outcome. */
export function typeOfOutcome<O extends Answer>({ kind }: O): (typeof TYPE_OF_KIND)[O['kind']] {
  return TYPE_OF_KIND[kind as O['kind']];
}
