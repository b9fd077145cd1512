import type { NamedLock } from '../locks/commands.js';
import { isName, isPrefix, NAME_RULE, PREFIX_RULE } from '../locks/names.js';
import type { LockSelector } from '../store/lock-store.js';
import { badUserInput } from './errors.js';

/** So many one call names: more would keep everybody else waiting for its transaction. */
export const MAX_LOCKS_PER_CALL = 1000;

const MAX_REVISION = 2n ** 63n - 1n;

/** Whether this can be a revision or a token: what a 64-bit integer column holds, from 0 on. */
export function isRevision(value: bigint): boolean {
  return value >= 0n && value <= MAX_REVISION;
}

/** The number that the digits write, or null where it can't be a revision, a token or a key. */
export function fromDigits(text: unknown): bigint | null {
  if (typeof text !== 'string' || !/^\d{1,19}$/u.test(text)) return null;
  const value = BigInt(text);
  return isRevision(value) ? value : null;
}

// Null and left out are the same everywhere: each of these turns both into null, or into the default.

/** @throws BAD_USER_INPUT where it is no name. */
export function nameInput(argument: string, value: string): string {
  if (!isName(value)) throw badUserInput(argument, `${argument} must be ${NAME_RULE}`);
  return value;
}

export function optionalNameInput(argument: string, value: string | null | undefined): string | null {
  return value == null ? null : nameInput(argument, value);
}

export function optionalPrefixInput(argument: string, value: string | null | undefined): string | null {
  if (value == null) return null;
  if (!isPrefix(value)) throw badUserInput(argument, `${argument} must be ${PREFIX_RULE}`);
  return value;
}

export function optionalRevisionInput(argument: string, value: bigint | null | undefined): bigint | null {
  if (value == null) return null;
  if (!isRevision(value)) throw badUserInput(argument, `${argument} must be from 0 to ${MAX_REVISION}`);
  return value;
}

export function optionalTtlInput(value: number | null | undefined, maxTtlMs: number): number | null {
  if (value == null) return null;
  if (value < 1 || value > maxTtlMs) throw badUserInput('ttlMs', `ttlMs must be from 1 to ${maxTtlMs} milliseconds`);
  return value;
}

export function optionalWaitInput(value: number | null | undefined, maxWaitMs: number): number | null {
  if (value == null) return null;
  if (value < 0 || value > maxWaitMs) throw badUserInput('waitMs', `waitMs must be from 0 to ${maxWaitMs} milliseconds`);
  return value;
}

/** The names: at least one, at most {@link MAX_LOCKS_PER_CALL}, and none twice. */
export function namesInput(argument: string, values: readonly string[]): readonly string[] {
  if (values.length < 1 || values.length > MAX_LOCKS_PER_CALL) {
    throw badUserInput(argument, `${argument} must name 1 to ${MAX_LOCKS_PER_CALL} locks`);
  }
  const names = new Set<string>();
  for (const value of values) {
    const name = nameInput(argument, value);
    if (names.has(name)) throw badUserInput(argument, `${argument} must not name ${JSON.stringify(name)} twice`);
    names.add(name);
  }
  return values;
}

/** The same of locks; null: all that the owner holds. */
export function namedLocksInput(
  locks: readonly { readonly resource: string; readonly fencingToken?: bigint | null }[] | null | undefined,
): readonly NamedLock[] | null {
  if (locks == null) return null;
  namesInput(
    'locks',
    locks.map(({ resource }) => resource),
  );
  return locks.map(({ resource, fencingToken }) => ({
    resource,
    fencingToken: optionalRevisionInput('fencingToken', fencingToken),
  }));
}

/** Which locks a filter names. */
export interface SelectorInput {
  readonly resource?: string | null;
  readonly prefix?: string | null;
  readonly owner?: string | null;
}

/** @throws BAD_USER_INPUT where a name breaks the rules, or `resource` and `prefix` are both given. */
export function selectorInput(filter: SelectorInput | null | undefined): LockSelector {
  const resource = optionalNameInput('resource', filter?.resource);
  const prefix = optionalPrefixInput('prefix', filter?.prefix);
  const owner = optionalNameInput('owner', filter?.owner);
  if (resource !== null && prefix !== null) {
    throw badUserInput('prefix', 'resource and prefix exclude each other: give one of them');
  }
  // Every name begins with the empty prefix: it does not narrow.
  return { resource, prefix: prefix === '' ? null : prefix, owner };
}
