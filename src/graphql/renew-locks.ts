import type { RenewedAll } from '../locks/outcomes.js';
import { toLockRecord } from '../store/reads/records.js';
import { builder } from './builder.js';
import { HeldLockInput, heldLocksInput } from './held-locks.js';
import { optionalTtlInput } from './inputs.js';
import { LockRef } from './lock.js';

const RenewLocksInput = builder.inputType('RenewLocksInput', {
  description: 'Which locks to keep, and for how long.',
  fields: (t) => ({
    owner: t.string({ required: true, description: 'Who holds them: the same as in the acquire.' }),
    locks: t.field({
      type: [HeldLockInput],
      description:
        'Which of them, none twice, at most server.limits.maxLocksPerCall; left out or null: all that this owner holds as the call comes.',
    }),
    upTo: t.field({
      type: 'BigInt',
      description: 'With locks left out: only acquisitions whose token is at most this. Together with locks: BAD_USER_INPUT.',
    }),
    ttlMs: t.int({
      description:
        'From now on, 1 to server.limits.maxTtlMs; left out or null: of each the TTL it was acquired with. A renewal never brings expiresAt forward.',
    }),
  }),
});

const LocksRenewed = builder.objectRef<RenewedAll>('LocksRenewed').implement({
  description: 'The locks that are held on, each under the same fencing token.',
  fields: (t) => ({
    locks: t.field({
      type: [LockRef],
      description: 'The locks as they are held now.',
      resolve: ({ locks }) => locks.map(toLockRecord),
    }),
    lost: t.exposeStringList('lost', {
      description: 'Named, but not held by this owner (any more) under that token: stop what they protected.',
    }),
  }),
});

builder.mutationField('renewLocks', (t) =>
  t.field({
    type: LocksRenewed,
    description: 'One heartbeat for everything an owner holds (locks left out), or for the named ones. Repeating it is safe.',
    args: { input: t.arg({ type: RenewLocksInput, required: true, description: 'Which locks to keep.' }) },
    resolve: (_root, { input }, context) => {
      context.startAnswer();
      return context.engine.renewAll(heldLocksInput(input), optionalTtlInput(input.ttlMs, context.limits.maxTtlMs));
    },
  }),
);
