import { lockLeftBy, type EventRecord } from '../store/reads/records.js';
import { builder } from './builder.js';
import { lockId } from './global-id.js';
import { LockRef } from './lock.js';
import type { LockEventType } from '../locks/events.js';

export const LockEventTypeRef = builder.enumType('LockEventType', {
  description: 'What happened to a lock; more types may come, so keep a default branch.',
  values: {
    ACQUIRED: { description: 'It was taken, or taken again by the same owner: a new fencing token.' },
    RENEWED: { description: 'Its expiry was extended; the fencing token stays.' },
    RELEASED: { description: 'Its owner gave it up before it expired.' },
    EXPIRED: { description: 'Its expiry passed without a renewal.' },
  },
});

const LockEventObject = builder.prismaObject('LockEvent', {
  name: 'LockEvent',
  description: 'One change of one lock, as it was at that revision, not as it is now.',
  fields: (t) => ({
    revision: t.expose('revision', {
      type: 'BigInt',
      description: 'Its place in the log: without gaps, rising in the order in which changes were committed.',
    }),
    type: t.field({
      type: LockEventTypeRef,
      description: 'What happened.',
      resolve: ({ type }) => type as LockEventType,
    }),
    at: t.expose('at', { type: 'DateTime', description: "When it happened; of EXPIRED: the lock's own expiresAt." }),
    lockId: t.id({
      description: 'The id of the lock that changed: the same as `Lock.id`.',
      resolve: ({ resource }) => lockId(resource),
    }),
    lock: t.field({
      type: LockRef,
      nullable: true,
      description:
        'The lock as this event left it (remainingMs and the like are of now); null after RELEASED and EXPIRED. Meant for watches: in a history page it would overwrite a normalised cache with old states.',
      resolve: (event) => lockLeftBy(event),
    }),
    resource: t.exposeString('resource', { description: 'The name of what was locked.' }),
    owner: t.exposeString('owner', { description: 'Who held it.' }),
    fencingToken: t.expose('fencingToken', { type: 'BigInt', description: 'The number of the acquisition that it belongs to.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: "The lock's expiry as of this event." }),
    metadata: t.expose('metadata', {
      type: 'JSON',
      nullable: true,
      description: 'What the holder had written on it; null where it wrote nothing.',
    }),
  }),
});

/** The type `LockEvent`; its id is made from its revision. */
export const LockEventRef = builder.nodeRef<EventRecord, string, typeof LockEventObject>(LockEventObject, {
  id: {
    description: 'Made from the revision: the same for ever.',
    resolve: ({ revision }) => String(revision),
  },
  loadManyWithoutCache: async (ids, { engine, prisma }) => {
    // What lies below is being removed: it is gone, whether its row is there still or not.
    const { oldestRevision } = await engine.head();
    const rows = await prisma.lockEvent.findMany({ where: { revision: { in: ids.map(BigInt), gt: oldestRevision } } });
    const byRevision = new Map(rows.map((row) => [String(row.revision), row]));
    return ids.map((id) => byRevision.get(id) ?? null);
  },
});
