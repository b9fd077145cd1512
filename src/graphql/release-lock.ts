import type { Released } from '../locks/outcomes.js';
import { builder } from './builder.js';
import { lockId } from './global-id.js';
import { nameInput, optionalRevisionInput } from './inputs.js';
import { typeOfOutcome } from './outcome-types.js';
import { ConflictRef, ForbiddenRef, NotFoundRef } from './refusals.js';

const ReleaseLockInput = builder.inputType('ReleaseLockInput', {
  description: "Which lock to give up, and the proof that it is the caller's.",
  fields: (t) => ({
    resource: t.string({ required: true, description: 'The name of what is locked.' }),
    owner: t.string({ required: true, description: 'Who holds it: the same as in the acquire.' }),
    fencingToken: t.field({
      type: 'BigInt',
      description:
        'Release this acquisition only, never a later one of the same owner; with it a retry within server.limits.retryWindowMs gets the same answer again.',
    }),
  }),
});

export const LockReleasedRef = builder.objectRef<Released>('LockReleased').implement({
  description: 'The lock is free, durably.',
  fields: (t) => ({
    lockId: t.id({ description: 'The id of the lock: the same as `Lock.id`.', resolve: ({ resource }) => lockId(resource) }),
    resource: t.exposeString('resource', { description: 'The name of what was locked.' }),
    fencingToken: t.expose('fencingToken', { type: 'BigInt', description: 'The number of the acquisition that has ended.' }),
    releasedAt: t.expose('releasedAt', {
      type: 'DateTime',
      description: 'When it was released; a retry is told of the first time.',
    }),
    revision: t.expose('revision', { type: 'BigInt', description: 'The revision of its RELEASED event.' }),
  }),
});

const ReleaseLockResult = builder.unionType('ReleaseLockResult', {
  description: 'The release, or why it was refused; more members may come, so keep a default branch.',
  types: [LockReleasedRef, NotFoundRef, ForbiddenRef, ConflictRef],
  resolveType: typeOfOutcome,
});

builder.mutationField('releaseLock', (t) =>
  t.field({
    type: ReleaseLockResult,
    description:
      "Gives up a lock that the caller holds; nobody else's lock, and no other acquisition than the one named, is ever touched.",
    args: { input: t.arg({ type: ReleaseLockInput, required: true, description: 'Which lock to give up.' }) },
    resolve: (_root, { input }, context) => {
      context.startAnswer();
      return context.engine.submit({
        kind: 'release',
        resource: nameInput('resource', input.resource),
        owner: nameInput('owner', input.owner),
        fencingToken: optionalRevisionInput('fencingToken', input.fencingToken),
      });
    },
  }),
);
