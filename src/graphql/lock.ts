import { heldAt } from '../store/reads/lock-conditions.js';
import type { LockRecord } from '../store/reads/records.js';
import { builder } from './builder.js';
import { nameInput } from './inputs.js';
import { MAX_INT } from './int.js';

/** How long the lock still lasts, in whole milliseconds; never negative. */
export function remainingMs({ expiresAt }: Pick<LockRecord, 'expiresAt'>, now: number): number {
  return Math.min(Math.max(Number(expiresAt) - now, 0), MAX_INT);
}

const LockObject = builder.prismaObject('DistributedLock', {
  name: 'Lock',
  description: 'A lock that is held: an expired one reads as absent.',
  fields: (t) => ({
    resource: t.exposeString('resource', { description: 'The name of what is locked; no two locks share it.' }),
    owner: t.exposeString('owner', {
      description: 'Who holds it, as the holder named itself: only this owner releases or renews it.',
    }),
    fencingToken: t.expose('fencingToken', {
      type: 'BigInt',
      description:
        'The number of this acquisition: higher than that of every earlier one, over all resources, for ever; a renewal keeps it.',
    }),
    revision: t.expose('revision', {
      type: 'BigInt',
      description: 'The revision of its last change: orders what a mutation answered against what a watch told.',
    }),
    acquiredAt: t.expose('acquiredAt', {
      type: 'DateTime',
      description: 'When the present ownership was established; a renewal does not move it.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'From this moment on it is held no more, unless renewed before.',
    }),
    remainingMs: t.int({
      description:
        "Milliseconds left by the server's clock at the moment of the answer; never negative. For a display use expiresAt and server.now.",
      resolve: async (lock, _args, context) => remainingMs(lock, await context.now()),
    }),
    queueLength: t.int({
      description: 'How many callers stand in line for it, now.',
      resolve: ({ resource }, _args, context) => context.queueLength(resource),
    }),
    metadata: t.expose('metadata', {
      type: 'JSON',
      nullable: true,
      description: 'What the holder wrote on it: host, pid, a link to the job; null where it wrote nothing.',
    }),
  }),
});

/** The type `Lock`; its id is made from the resource alone, so that it is the same whoever holds the lock. */
export const LockRef = builder.nodeRef<LockRecord, string, typeof LockObject>(LockObject, {
  id: {
    description: 'Made from the resource: the same for ever, whoever holds it.',
    resolve: ({ resource }) => resource,
  },
  loadManyWithoutCache: async (resources, context) => {
    const rows = await context.prisma.distributedLock.findMany({
      where: { resource: { in: resources }, ...heldAt(await context.now()) },
    });
    const byResource = new Map(rows.map((row) => [row.resource, row]));
    return resources.map((resource) => byResource.get(resource) ?? null);
  },
});

builder.queryField('lock', (t) =>
  t.prismaField({
    type: LockRef,
    nullable: true,
    description: 'The lock, or null where it is free: never taken, released or expired.',
    args: { resource: t.arg.string({ required: true, description: 'The whole name of what is locked.' }) },
    resolve: async (query, _root, args, context) =>
      // Not findUnique: Prisma would put those of one turn into one query, and plan, and keep, another one for each number of them.
      context.prisma.distributedLock.findFirst({
        ...query,
        where: { resource: nameInput('resource', args.resource), ...heldAt(await context.now()) },
      }),
  }),
);
