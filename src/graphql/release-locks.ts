import type { ReleasedAll } from '../locks/outcomes.js';
import { builder } from './builder.js';
import { HeldLockInput, heldLocksInput } from './held-locks.js';
import { LockReleasedRef } from './release-lock.js';

const ReleaseLocksInput = builder.inputType('ReleaseLocksInput', {
  description: 'Which locks to give up.',
  fields: (t) => ({
    owner: t.string({ required: true, description: 'Who holds them: the same as in the acquire.' }),
    locks: t.field({
      type: [HeldLockInput],
      description:
        'Which of them, none twice, at most server.limits.maxLocksPerCall; left out or null: all that this owner holds as the call comes.',
    }),
    upTo: t.field({
      type: 'BigInt',
      description:
        "With locks left out: only acquisitions whose token is at most this, so that a late retry can't free what was acquired since. Together with locks: BAD_USER_INPUT.",
    }),
  }),
});

const LocksReleased = builder.objectRef<ReleasedAll>('LocksReleased').implement({
  description: 'The locks that are free, durably.',
  fields: (t) => ({
    released: t.field({
      type: [LockReleasedRef],
      description: 'Also what was named with a token that is known as released: a retry gets the answer that was lost.',
      resolve: ({ released }) => [...released],
    }),
    notHeld: t.exposeStringList('notHeld', {
      description: 'Named, but not held by this owner (any more) under that token.',
    }),
  }),
});

builder.mutationField('releaseLocks', (t) =>
  t.field({
    type: LocksReleased,
    description:
      "Gives up everything an owner holds (locks left out), or the named ones; nobody else's lock, and no other acquisition than the one named, is ever touched.",
    args: { input: t.arg({ type: ReleaseLocksInput, required: true, description: 'Which locks to give up.' }) },
    resolve: (_root, { input }, context) => {
      context.startAnswer();
      return context.engine.releaseAll(heldLocksInput(input));
    },
  }),
);
