import type { HoldRequest } from '../engine/hold.js';
import type { HoldLost, HoldQueued, HoldUpdate } from '../engine/hold-updates.js';
import type { LostCause } from '../engine/lost-cause.js';
import { LockAcquiredRef } from './acquire-lock.js';
import { builder } from './builder.js';
import type { TimeLimits } from './context.js';
import { nameInput, optionalRevisionInput, optionalTtlInput, optionalWaitInput } from './inputs.js';
import { ConflictRef } from './refusals.js';
import { LockRenewedRef } from './renew-lock.js';

/** The subscription that changes locks: what must not be done by a GET, say. */
export const HOLDING_FIELD = 'holdLock';

const HoldLockInput = builder.inputType('HoldLockInput', {
  description: 'Which lock to hold, for whom, and how.',
  fields: (t) => ({
    resource: t.string({ required: true, description: 'The name of what to lock.' }),
    owner: t.string({
      required: true,
      description: 'Who asks: a name that only this process uses. Only the same owner can release or renew.',
    }),
    ttlMs: t.int({
      description:
        'How long it lasts when nobody renews it, which is how long there is to come back: 1 to server.limits.maxTtlMs; left out or null: server.limits.defaultTtlMs.',
    }),
    waitMs: t.int({
      description:
        'Stand in line for at most this long, up to server.limits.maxWaitMs; 0: not at all; left out or null: for as long as it takes.',
    }),
    fencingToken: t.field({
      type: 'BigInt',
      description:
        'Go on with this acquisition, without a wait; left out: an owner that comes back re-acquires and gets a new token.',
    }),
    metadata: t.field({ type: 'JSON', description: 'What to write on it for others to read. Left out: none.' }),
  }),
});

const LockQueued = builder.objectRef<HoldQueued>('LockQueued').implement({
  description: 'Standing in line; position 1 is next. Sent when the position has changed, at most once a second.',
  fields: (t) => ({
    resource: t.exposeString('resource', { description: 'The name of what it waits for.' }),
    position: t.exposeInt('position', { description: 'The place in line, from 1 on.' }),
    deadline: t.expose('deadline', {
      type: 'DateTime',
      nullable: true,
      description: 'When it will have waited for as long as it wished to; null: it waits for as long as it takes.',
    }),
  }),
});

const LostCauseRef = builder.enumType('LostCause', {
  description: 'Why a lock is held no more; more causes may come, so keep a default branch.',
  values: {
    EXPIRED: { description: 'It was not renewed in time.' },
    SUPERSEDED: { description: 'Re-acquired under the same owner.' },
    RELEASED: { description: 'Released elsewhere, under the same owner.' },
    SHUTDOWN: {
      description:
        'The instance goes away and renews it no longer: until it expires it is yours, so come back with its token, which any instance takes.',
    },
  } satisfies Record<LostCause, object>,
});

const LockLost = builder.objectRef<HoldLost>('LockLost').implement({
  description: 'The lock is not held on: stop what it protected, unless the cause is SHUTDOWN. The last message of the stream.',
  fields: (t) => ({
    resource: t.exposeString('resource', { description: 'The name of what was locked.' }),
    fencingToken: t.expose('fencingToken', { type: 'BigInt', description: 'The acquisition that it was held under.' }),
    cause: t.expose('cause', {
      type: LostCauseRef,
      description: 'Why; more causes may come, so keep a default branch.',
    }),
  }),
});

const TYPE_OF_KIND = {
  'hold-queued': 'LockQueued',
  acquired: 'LockAcquired',
  renewed: 'LockRenewed',
  'hold-lost': 'LockLost',
  conflict: 'Conflict',
} as const satisfies Record<HoldUpdate['kind'], string>;

const HoldUpdateRef = builder.unionType('HoldUpdate', {
  description: 'What becomes of a lock that is held by a subscription; more members may come, so keep a default branch.',
  types: [LockQueued, LockAcquiredRef, LockRenewedRef, LockLost, ConflictRef],
  resolveType: ({ kind }) => TYPE_OF_KIND[kind],
});

builder.subscriptionField(HOLDING_FIELD, (t) =>
  t.field({
    type: HoldUpdateRef,
    description:
      'Stands in line, takes the lock, renews it at a third of the TTL for as long as the subscription lives, and releases it when the client completes it. A connection that breaks without completing only stops the renewals: the TTL runs on, and who comes back within it with its token goes on holding. The stream ends after LockLost or Conflict. By WebSocket, or by POST with server-sent events, which know no completing: release it by releaseLock there.',
    args: { input: t.arg({ type: HoldLockInput, required: true, description: 'Which lock to hold, and for whom.' }) },
    subscribe: (_root, { input }, { engine, limits, caller }) => engine.hold(toRequest(input, limits), () => caller.hasCompleted()),
    resolve: (update, _args, context) => {
      context.startAnswer();
      return update;
    },
  }),
);

function toRequest(input: typeof HoldLockInput.$inferInput, limits: TimeLimits): HoldRequest {
  return {
    resource: nameInput('resource', input.resource),
    owner: nameInput('owner', input.owner),
    ttlMs: optionalTtlInput(input.ttlMs, limits.maxTtlMs) ?? limits.defaultTtlMs,
    waitMs: optionalWaitInput(input.waitMs, limits.maxWaitMs),
    fencingToken: optionalRevisionInput('fencingToken', input.fencingToken),
    metadata: input.metadata ?? null,
  };
}
