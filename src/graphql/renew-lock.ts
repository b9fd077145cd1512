import type { Renewed } from '../locks/outcomes.js';
import { toLockRecord } from '../store/reads/records.js';
import { builder } from './builder.js';
import { nameInput, optionalRevisionInput, optionalTtlInput } from './inputs.js';
import { LockRef } from './lock.js';
import { typeOfOutcome } from './outcome-types.js';
import { ConflictRef, NotFoundRef } from './refusals.js';

const RenewLockInput = builder.inputType('RenewLockInput', {
  description: "Which lock to keep, the proof that it is the caller's, and for how long.",
  fields: (t) => ({
    resource: t.string({ required: true, description: 'The name of what is locked.' }),
    owner: t.string({ required: true, description: 'Who holds it: the same as in the acquire.' }),
    fencingToken: t.field({ type: 'BigInt', description: 'Renew this acquisition only, never a later one of the same owner.' }),
    ttlMs: t.int({
      description:
        'From now on, 1 to server.limits.maxTtlMs; left out or null: the TTL it was acquired with. A renewal never brings expiresAt forward.',
    }),
  }),
});

export const LockRenewedRef = builder.objectRef<Renewed>('LockRenewed').implement({
  description: 'The lock is held on, under the same fencing token.',
  fields: (t) => ({
    lock: t.field({ type: LockRef, description: 'The lock as it is held now.', resolve: ({ lock }) => toLockRecord(lock) }),
  }),
});

const RenewLockResult = builder.unionType('RenewLockResult', {
  description: 'The renewed lock, or why it was refused; more members may come, so keep a default branch.',
  types: [LockRenewedRef, NotFoundRef, ConflictRef],
  resolveType: typeOfOutcome,
});

builder.mutationField('renewLock', (t) =>
  t.field({
    type: RenewLockResult,
    description: 'Extends a lock that the caller holds and that has not expired; never shortens it. Repeating it is safe.',
    args: { input: t.arg({ type: RenewLockInput, required: true, description: 'Which lock to keep.' }) },
    resolve: (_root, { input }, context) => {
      context.startAnswer();
      return context.engine.submit({
        kind: 'renew',
        resource: nameInput('resource', input.resource),
        owner: nameInput('owner', input.owner),
        fencingToken: optionalRevisionInput('fencingToken', input.fencingToken),
        ttlMs: optionalTtlInput(input.ttlMs, context.limits.maxTtlMs),
      });
    },
  }),
);
