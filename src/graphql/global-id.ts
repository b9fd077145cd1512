import { isName } from '../locks/names.js';
import { badUserInput } from './errors.js';
import { fromDigits } from './inputs.js';

/** The types that `node` finds, and what the rest of their ids may be. */
const ID_RULES = {
  Lock: isName,
  LockEvent: (id: string) => fromDigits(id) !== null,
} as const satisfies Record<string, (id: string) => boolean>;

export type NodeType = keyof typeof ID_RULES;

/** The same id for the same thing, for ever: nothing but its type and name goes into it. */
export function encodeGlobalId(type: string, id: bigint | number | string): string {
  return Buffer.from(`${type}:${id}`).toString('base64url');
}

export function lockId(resource: string): string {
  return encodeGlobalId('Lock', resource);
}

/** @throws BAD_USER_INPUT where the id is not one that {@link encodeGlobalId} made for a type that has nodes. */
export function decodeGlobalId(globalId: string): { typename: NodeType; id: string } {
  const text = Buffer.from(globalId, 'base64url').toString();
  const colon = text.indexOf(':');
  const typename = text.slice(0, colon);
  const id = text.slice(colon + 1);
  // Decoding skips what it doesn't know: only what encodes to the same text was an id.
  if (isNodeType(typename) && ID_RULES[typename](id) && encodeGlobalId(typename, id) === globalId) return { typename, id };
  throw badUserInput('id', 'An id is one that this server gave out: as the id of a node, or as a lockId');
}

function isNodeType(typename: string): typename is NodeType {
  return Object.hasOwn(ID_RULES, typename);
}
