import { isName } from '../locks/names.js';
import { badUserInput } from './errors.js';
import { fromDigits } from './inputs.js';

/** No type has this name. */
const NO_TYPE = '';

/** The types that `node` finds, and what the rest of their ids may be. */
const ID_RULES = {
  Lock: isName,
  LockEvent: (id: string) => fromDigits(id) !== null,
} as const satisfies Record<string, (id: string) => boolean>;

type NodeType = keyof typeof ID_RULES;

/** The same id for the same thing, for ever: nothing but its type and name goes into it. */
export function encodeGlobalId(type: string, id: bigint | number | string): string {
  return Buffer.from(`${type}:${id}`).toString('base64url');
}

export function lockId(resource: string): string {
  return encodeGlobalId('Lock', resource);
}

/** Which node an id is of. */
export interface DecodedId {
  readonly typename: string;
  readonly id: string;
}

/**
 * Not refused here is an id that {@link encodeGlobalId} never made for a type that has nodes: only the field knows in which
 * of its arguments it stands. {@link onlyNodeIds} refuses it.
 */
export function decodeGlobalId(globalId: string): DecodedId {
  const text = Buffer.from(globalId, 'base64url').toString();
  const colon = text.indexOf(':');
  const typename = text.slice(0, colon);
  const id = text.slice(colon + 1);
  // Decoding skips what it doesn't know: only what encodes to the same text was an id.
  if (isNodeType(typename) && ID_RULES[typename](id) && encodeGlobalId(typename, id) === globalId) return { typename, id };
  return { typename: NO_TYPE, id: globalId };
}

/** @throws BAD_USER_INPUT naming the argument, where one of the ids is none that this server gave out for a node. */
export function onlyNodeIds(argument: string, ids: readonly DecodedId[]): void {
  if (ids.every(({ typename }) => typename !== NO_TYPE)) return;
  throw badUserInput(argument, 'An id is one that this server gave out: as the id of a node, or as a lockId');
}

function isNodeType(typename: string): typename is NodeType {
  return Object.hasOwn(ID_RULES, typename);
}
