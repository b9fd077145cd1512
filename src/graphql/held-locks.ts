import type { HeldLocks } from '../engine/owned-locks.js';
import { builder } from './builder.js';
import { badUserInput } from './errors.js';
import { nameInput, namedLocksInput, optionalRevisionInput } from './inputs.js';

export const HeldLockInput = builder.inputType('HeldLockInput', {
  description: 'One of the locks that an owner holds.',
  fields: (t) => ({
    resource: t.string({ required: true, description: 'The name of what is locked.' }),
    fencingToken: t.field({ type: 'BigInt', description: 'This acquisition only, never a later one of the same owner.' }),
  }),
});

interface HeldLocksInput {
  readonly owner: string;
  readonly locks?: readonly (typeof HeldLockInput.$inferInput)[] | null;
  readonly upTo?: bigint | null;
}

/** @throws BAD_USER_INPUT where a value breaks the rules, or `locks` and `upTo` are both given. */
export function heldLocksInput(input: HeldLocksInput): HeldLocks {
  const upTo = optionalRevisionInput('upTo', input.upTo);
  const locks = namedLocksInput(input.locks);
  if (locks !== null && upTo !== null) {
    throw badUserInput('upTo', 'upTo is for all that an owner holds: give it only where locks is left out');
  }
  return { owner: nameInput('owner', input.owner), locks, upTo };
}
