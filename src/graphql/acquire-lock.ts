import type { AcquireCommand } from '../locks/commands.js';
import type { Acquired } from '../locks/outcomes.js';
import { toLockRecord } from '../store/reads/records.js';
import { builder } from './builder.js';
import type { TimeLimits } from './context.js';
import { nameInput, optionalNameInput, optionalTtlInput, optionalWaitInput } from './inputs.js';
import { LockRef } from './lock.js';
import { typeOfOutcome } from './outcome-types.js';
import { ConflictRef } from './refusals.js';

const AcquireLockInput = builder.inputType('AcquireLockInput', {
  description: 'Which lock to take, for whom and for how long.',
  fields: (t) => ({
    resource: t.string({ required: true, description: 'The name of what to lock.' }),
    owner: t.string({
      required: true,
      description: 'Who asks: a name that only this process uses. Only the same owner can release or renew.',
    }),
    ttlMs: t.int({ description: '1 to server.limits.maxTtlMs; left out or null: server.limits.defaultTtlMs.' }),
    requestId: t.string({
      description:
        'Makes a retry safe: within server.limits.retryWindowMs the same owner, resource and requestId get the same acquisition again (as it is now), whatever the other arguments. It remembers successes only: what was refused may be tried again with the same id.',
    }),
    reacquire: t.boolean({
      description: 'false: refuse (HELD_BY_SELF) where this owner already holds it. Left out or null: true.',
    }),
    metadata: t.field({
      type: 'JSON',
      description: 'What to write on it for others to read. Left out: none; a re-acquire does not inherit it.',
    }),
    waitMs: t.int({
      description:
        'Stand in line for at most this long, up to server.limits.maxWaitMs; 0, null or left out: answer at once. First come, first served; the TTL counts from the grant. Whether this owner already holds the lock is judged on arrival only: two waiters of one owner are two places in the line. A retry with the requestId of a waiting call takes over its place, and the earlier call ends with UNAVAILABLE. Who completes the operation or closes its connection leaves the line; a turn that comes in that very moment is given back, or with a requestId kept for the retry.',
    }),
    detectDeadlock: t.boolean({
      description:
        'Refuse (DEADLOCK) if waiting would close a circle of owners that wait for each other. For owners that are one worker each.',
    }),
  }),
});

export const LockAcquiredRef = builder.objectRef<Acquired>('LockAcquired').implement({
  description: 'The lock is held by the caller, durably, until it expires or is released.',
  fields: (t) => ({
    lock: t.field({ type: LockRef, description: 'The lock as it is held now.', resolve: ({ lock }) => toLockRecord(lock) }),
    reacquired: t.exposeBoolean('reacquired', {
      description: "This owner held it already, unexpired: the earlier acquisition's token is dead now.",
    }),
  }),
});

const AcquireLockResult = builder.unionType('AcquireLockResult', {
  description: 'The lock, or why it was refused; more members may come, so keep a default branch.',
  types: [LockAcquiredRef, ConflictRef],
  resolveType: typeOfOutcome,
});

builder.mutationField('acquireLock', (t) =>
  t.field({
    type: AcquireLockResult,
    description:
      'Takes the lock, or says at once who holds it; with waitMs it stands in line first. At most one owner holds a lock at any moment, and nobody overtakes who stands in line.',
    args: {
      input: t.arg({ type: AcquireLockInput, required: true, description: 'Which lock to take, for whom and for how long.' }),
    },
    resolve: (_root, { input }, context) => {
      context.startAnswer();
      const { engine, limits, caller } = context;
      const waitMs = optionalWaitInput(input.waitMs, limits.maxWaitMs) ?? 0;
      const wait = waitMs === 0 ? null : { waitMs, detectDeadlock: input.detectDeadlock ?? false };
      return engine.acquire<AcquireCommand>(toCommand(input, limits), wait, () => caller.gone());
    },
  }),
);

function toCommand(input: typeof AcquireLockInput.$inferInput, limits: TimeLimits): Omit<AcquireCommand, 'wait'> {
  return {
    kind: 'acquire',
    resource: nameInput('resource', input.resource),
    owner: nameInput('owner', input.owner),
    ttlMs: optionalTtlInput(input.ttlMs, limits.maxTtlMs) ?? limits.defaultTtlMs,
    requestId: optionalNameInput('requestId', input.requestId),
    reacquire: input.reacquire ?? true,
    metadata: input.metadata ?? null,
  };
}
