import type { Conflict, ConflictReason, Forbidden, NotFound } from '../locks/outcomes.js';
import { toLockRecord } from '../store/reads/records.js';
import { builder } from './builder.js';
import { LockRef, remainingMs } from './lock.js';
import { explain, type Refusal } from './refusal-messages.js';
import { retryAfterMs } from './retry-after.js';

const LockErrorRef = builder.interfaceRef<Refusal>('LockError').implement({
  description:
    'Every refusal that is part of the domain: `... on LockError { message resource }` covers them all, and those to come.',
  fields: (t) => ({
    message: t.string({ description: 'What stands in the way and what to do about it, for people to read.', resolve: explain }),
    resource: t.exposeString('resource', { description: 'The name that was asked for.' }),
  }),
});

export const NotFoundRef = builder.objectRef<NotFound>('NotFound').implement({
  interfaces: [LockErrorRef],
  description: 'Nothing is held under that name.',
});

export const ForbiddenRef = builder.objectRef<Forbidden>('Forbidden').implement({
  interfaces: [LockErrorRef],
  description: 'Somebody else holds it.',
  fields: (t) => ({
    current: t.field({
      type: LockRef,
      // Never null here; but in a union, fields of one name have to have one type for a client to ask for them side by side.
      nullable: true,
      description: 'The lock that is held under that name at the moment.',
      resolve: ({ current }) => toLockRecord(current),
    }),
  }),
});

const ConflictReasonRef = builder.enumType('ConflictReason', {
  description: 'Why the state of the lock stands in the way; more reasons may come, so keep a default branch.',
  values: {
    HELD_BY_ANOTHER: { description: 'Somebody else holds the lock.' },
    HELD_BY_SELF: { description: 'The same owner holds it, and the caller asked not to re-acquire.' },
    EXPIRED: { description: 'The lock had expired before the renewal came.' },
    STALE_TOKEN: { description: 'The token is not that of the present acquisition.' },
    REQUEST_SPENT: { description: 'The requestId was used before, and what it acquired has ended.' },
    WAIT_TIMEOUT: { description: 'waitMs passed.' },
    DEADLOCK: { description: 'Waiting would close a circle; the message names it.' },
  } satisfies Record<ConflictReason, object>,
});

export const ConflictRef = builder.objectRef<Conflict>('Conflict').implement({
  interfaces: [LockErrorRef],
  description: 'The state of the lock stands in the way: `reason` says how.',
  fields: (t) => ({
    reason: t.expose('reason', {
      type: ConflictReasonRef,
      description: 'What stands in the way; more reasons may come, so keep a default branch.',
    }),
    current: t.field({
      type: LockRef,
      nullable: true,
      description: 'The lock that is held under that name at the moment, if any.',
      resolve: ({ current }) => current && toLockRecord(current),
    }),
    blockedBy: t.field({
      type: [LockRef],
      description: 'All the locks that stand in the way.',
      resolve: ({ current, blockedBy }) => (blockedBy ?? (current === null ? [] : [current])).map(toLockRecord),
    }),
    retryAfterMs: t.int({
      nullable: true,
      description:
        'A sensible moment to try again, in milliseconds from now (with a little randomness, so that not everybody comes back at once); null where trying again changes nothing.',
      resolve: async ({ reason, current }, _args, context) =>
        retryAfterMs(reason, current === null ? null : remainingMs(toLockRecord(current), await context.now())),
    }),
  }),
});
