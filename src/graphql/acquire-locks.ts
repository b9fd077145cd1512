import type { AcquireAllCommand } from '../locks/commands.js';
import type { AcquiredAll } from '../locks/outcomes.js';
import { toLockRecord } from '../store/reads/records.js';
import { builder } from './builder.js';
import type { TimeLimits } from './context.js';
import { namesInput, nameInput, optionalNameInput, optionalTtlInput, optionalWaitInput } from './inputs.js';
import { LockRef } from './lock.js';
import { typeOfOutcome } from './outcome-types.js';
import { ConflictRef } from './refusals.js';

const AcquireLocksInput = builder.inputType('AcquireLocksInput', {
  description: 'Which locks to take, for whom and for how long.',
  fields: (t) => ({
    resources: t.stringList({
      required: true,
      description: 'The names of what to lock, in any order, none twice; at most server.limits.maxLocksPerCall.',
    }),
    owner: t.string({
      required: true,
      description: 'Who asks: a name that only this process uses. Only the same owner can release or renew.',
    }),
    ttlMs: t.int({
      description: 'Of each of them: 1 to server.limits.maxTtlMs; left out or null: server.limits.defaultTtlMs.',
    }),
    waitMs: t.int({
      description:
        'Stand in line for all of them, for at most this long, up to server.limits.maxWaitMs; 0, null or left out: answer at once. Meanwhile it holds none of them; it gets all of them at once when it is first in each of their lines and all are free, so nobody who came later gets any of them before it. Who completes the operation or closes its connection leaves the lines; a turn that comes in that very moment is given back, or with a requestId kept for the retry.',
    }),
    requestId: t.string({
      description:
        'Makes a retry safe: within server.limits.retryWindowMs the same owner, resources and requestId get the same acquisitions again. Where it is known for some of the names only, or one of its acquisitions has ended: REQUEST_SPENT.',
    }),
    reacquire: t.boolean({
      description: 'false: refuse (HELD_BY_SELF) where this owner already holds one of them. Left out or null: true.',
    }),
    metadata: t.field({ type: 'JSON', description: 'What to write on each of them for others to read. Left out: none.' }),
  }),
});

const LocksAcquired = builder.objectRef<AcquiredAll>('LocksAcquired').implement({
  description: 'All the locks are held by the caller, durably, each until it expires or is released.',
  fields: (t) => ({
    locks: t.field({
      type: [LockRef],
      description: 'The locks as they are held now, in the order of `resources`; each has a fencing token of its own.',
      resolve: ({ locks }) => locks.map(toLockRecord),
    }),
  }),
});

const AcquireLocksResult = builder.unionType('AcquireLocksResult', {
  description: 'All the locks, or why none was taken; more members may come, so keep a default branch.',
  types: [LocksAcquired, ConflictRef],
  resolveType: typeOfOutcome,
});

builder.mutationField('acquireLocks', (t) =>
  t.field({
    type: AcquireLocksResult,
    description:
      'All of them or none. There is no order to agree on, so no deadlock among such calls. Conflict names the first that stands in the way; a requestId that is known for some of the names only is REQUEST_SPENT.',
    args: { input: t.arg({ type: AcquireLocksInput, required: true, description: 'Which locks to take, and for whom.' }) },
    resolve: (_root, { input }, context) => {
      context.startAnswer();
      const { engine, limits, caller } = context;
      const waitMs = optionalWaitInput(input.waitMs, limits.maxWaitMs) ?? 0;
      const wait = waitMs === 0 ? null : { waitMs, detectDeadlock: false };
      return engine.acquire<AcquireAllCommand>(toCommand(input, limits), wait, () => caller.gone());
    },
  }),
);

function toCommand(input: typeof AcquireLocksInput.$inferInput, limits: TimeLimits): Omit<AcquireAllCommand, 'wait'> {
  return {
    kind: 'acquire-all',
    resources: namesInput('resources', input.resources),
    owner: nameInput('owner', input.owner),
    ttlMs: optionalTtlInput(input.ttlMs, limits.maxTtlMs) ?? limits.defaultTtlMs,
    requestId: optionalNameInput('requestId', input.requestId),
    reacquire: input.reacquire ?? true,
    metadata: input.metadata ?? null,
  };
}
