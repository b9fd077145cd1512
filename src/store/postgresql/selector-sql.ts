import { rangeOfPrefix } from '../../locks/names.js';
import type { LockSelector } from '../lock-store.js';

/** Conditions on the columns `resource` and `owner`, each to follow another one, and their values. */
export interface SelectorSql {
  readonly conditions: string;
  readonly values: readonly string[];
}

/**
 * A prefix is a range of names: no character of it is a wildcard, and the index serves it.
 *
 * @param taken how many parameters the statement has already
 */
export function selectorSql({ resource, prefix, owner }: LockSelector, taken: number): SelectorSql {
  let conditions = '';
  const values: string[] = [];
  const require = (condition: string, value: string | null) => {
    if (value === null) return;
    values.push(value);
    conditions += ` AND ${condition} $${taken + values.length}`;
  };
  const range = prefix === null ? null : rangeOfPrefix(prefix);
  require('resource =', resource);
  require('resource >=', range?.from ?? null);
  require('resource <', range?.before ?? null);
  require('owner =', owner);
  return { conditions, values };
}

/** Whether it leaves anything out. */
export function isNarrow({ resource, prefix, owner }: LockSelector): boolean {
  return resource !== null || owner !== null || (prefix ?? '') !== '';
}
