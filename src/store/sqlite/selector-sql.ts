import { rangeOfPrefix } from '../../locks/names.js';
import type { LockSelector } from '../lock-store.js';

/** Conditions on the columns `resource` and `owner`, each to follow another one, and their named parameters. */
export interface SelectorSql {
  readonly conditions: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** A prefix is a range of names: no character of it is a wildcard, and the index serves it. */
export function selectorSql({ resource, prefix, owner }: LockSelector): SelectorSql {
  let conditions = '';
  const parameters: Record<string, string> = {};
  if (resource !== null) {
    conditions += ' AND resource = @resource';
    parameters['resource'] = resource;
  }
  if (prefix !== null) {
    const { from, before } = rangeOfPrefix(prefix);
    conditions += ' AND resource >= @from';
    parameters['from'] = from;
    if (before !== null) {
      conditions += ' AND resource < @before';
      parameters['before'] = before;
    }
  }
  if (owner !== null) {
    conditions += ' AND owner = @owner';
    parameters['owner'] = owner;
  }
  return { conditions, parameters };
}
