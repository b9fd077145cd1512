import { isName } from '../locks/names.js';
import type { ExpiryPlace, KeyedLockRecord } from '../store/reads/locks-by-expiry.js';
import type { LockRecord } from '../store/reads/records.js';
import { fromDigits } from './inputs.js';
import type { PageOrder } from './pagination.js';

/** By resource, in code point order. */
export const byName: PageOrder<LockRecord, string> = {
  name: 'RESOURCE',
  placeOf: ({ resource }) => resource,
  toText: (resource) => [resource],
  fromText: ([resource]) => (typeof resource === 'string' && isName(resource) ? resource : null),
};

/** By expiry, soonest first. */
export const byExpiry: PageOrder<KeyedLockRecord, ExpiryPlace> = {
  name: 'EXPIRES_AT',
  placeOf: ({ expiresAt, key }) => ({ expiresAt, id: BigInt(key) }),
  toText: ({ expiresAt, id }) => [String(expiresAt), String(id)],
  fromText: (text) => {
    const [expiresAt, id] = text.map(fromDigits);
    return expiresAt == null || id == null ? null : { expiresAt, id };
  },
};
