import type { LogHead } from '../store/lock-store.js';
import type { PrismaReader } from '../store/prisma-clients.js';
import { searchEvents } from '../store/reads/event-search.js';
import type { EventFilter } from '../store/reads/event-filter.js';
import type { ReadRows } from '../store/reads/range.js';
import type { EventRecord } from '../store/reads/records.js';
import { builder } from './builder.js';
import { fromDigits, optionalRevisionInput, selectorInput } from './inputs.js';
import { LockEventRef, LockEventTypeRef } from './lock-event.js';
import { readPage, readPageArgs, type PageOrder } from './pagination.js';

const LockEventFilter = builder.inputType('LockEventFilter', {
  description:
    'Which events to show: resource and prefix exclude each other; what is left out or null does not narrow; since and until go by `at`.',
  fields: (t) => ({
    resource: t.string({ description: 'Of the lock with exactly this name.' }),
    prefix: t.string({ description: 'Of names that begin with exactly these characters; no wildcards.' }),
    owner: t.string({ description: 'Of locks that this owner held.' }),
    types: t.field({ type: [LockEventTypeRef], description: 'Of one of these types; an empty list admits none.' }),
    fencingToken: t.field({ type: 'BigInt', description: 'Of the acquisition with this number.' }),
    since: t.field({ type: 'DateTime', description: 'That happened at this moment or after it.' }),
    until: t.field({ type: 'DateTime', description: 'That happened at this moment or before it.' }),
  }),
});

builder.queryField('lockEvents', (t) =>
  t.connection(
    {
      type: LockEventRef,
      description: 'What happened, newest first, as far back as the log is kept.',
      args: { filter: t.arg({ type: LockEventFilter, description: 'Which events; left out or null: all.' }) },
      resolve: async (_root, args, { engine, prisma }) => {
        const request = readPageArgs(args, newestFirst);
        const filter = eventFilterInput(args.filter);
        return readPage(request, newestFirst, readEvents(prisma, filter, await engine.head()));
      },
    },
    { name: 'LockEventConnection', description: 'A page of the log.' },
    { name: 'LockEventEdge', description: 'An event and its place in the log.' },
  ),
);

const newestFirst: PageOrder<EventRecord, bigint> = {
  name: 'REVISION',
  placeOf: ({ revision }) => revision,
  toText: (revision) => [String(revision)],
  fromText: ([revision]) => fromDigits(revision),
};

/** Reads the log between its ends: what lies up to the oldest revision is being removed. */
function readEvents(prisma: PrismaReader, filter: EventFilter, head: LogHead): ReadRows<EventRecord, bigint> {
  return ({ start, end }, limit, backwards) => {
    const newest = start === null ? head.revision : start.inclusive ? start.place : start.place - 1n;
    const oldest = end === null ? 0n : end.inclusive ? end.place : end.place + 1n;
    const from = oldest > head.oldestRevision ? oldest : head.oldestRevision + 1n;
    const to = newest < head.revision ? newest : head.revision;
    return searchEvents(prisma, filter, { from, to }, limit, backwards);
  };
}

function eventFilterInput(input: typeof LockEventFilter.$inferInput | null | undefined): EventFilter {
  return {
    ...selectorInput(input),
    types: input?.types ?? null,
    fencingToken: optionalRevisionInput('fencingToken', input?.fencingToken),
    since: input?.since ?? null,
    until: input?.until ?? null,
  };
}
