import { countLocks } from '../store/reads/count-locks.js';
import type { ListFilter } from '../store/reads/lock-conditions.js';
import { readLocksByExpiry } from '../store/reads/locks-by-expiry.js';
import { readLocksByName } from '../store/reads/locks-by-name.js';
import type { LockRecord } from '../store/reads/records.js';
import { builder } from './builder.js';
import type { GraphQLContext } from './context.js';
import { selectorInput } from './inputs.js';
import { LockRef } from './lock.js';
import { byExpiry, byName } from './lock-orders.js';
import { readPage, readPageArgs, type Page, type PageArgs } from './pagination.js';

const LockFilter = builder.inputType('LockFilter', {
  description: 'Which locks to show; what is left out or null does not narrow.',
  fields: (t) => ({
    prefix: t.string({ description: 'Names that begin with exactly these characters; no wildcards.' }),
    owner: t.string({ description: 'Held by this owner.' }),
  }),
});

const LockOrder = builder.enumType('LockOrder', {
  description: 'How locks are ordered; more orders may come, so keep a default branch.',
  values: {
    RESOURCE: { description: 'By name, in code point order.' },
    EXPIRES_AT: { description: 'Those that expire soonest first.' },
  },
});

builder.queryField('locks', (t) =>
  t.connection(
    {
      type: LockRef,
      description: 'Locks that are held now.',
      args: {
        filter: t.arg({ type: LockFilter, description: 'Which of them; left out or null: all.' }),
        orderBy: t.arg({ type: LockOrder, description: 'In which order; left out or null: RESOURCE.' }),
      },
      resolve: async (_root, args, context) => {
        const filter = selectorInput(args.filter);
        const readLocks = args.orderBy === 'EXPIRES_AT' ? pageByExpiry(args, filter) : pageByName(args, filter);
        // Before the page: a watch that starts after this revision misses nothing.
        const { revision } = await context.engine.head();
        return { ...(await readLocks(context)), revision, filter };
      },
    },
    {
      name: 'LockConnection',
      description: 'A page of the locks that are held.',
      fields: (connection) => ({
        totalCount: connection.int({
          description: 'How many locks the filter admits, on all pages together.',
          resolve: async ({ filter }, _args, context) => countLocks(context.prisma, filter, await context.now()),
        }),
        revision: connection.field({
          type: 'BigInt',
          description: 'Read before the page: a watch that starts after it misses nothing.',
          resolve: ({ revision }) => revision,
        }),
      }),
    },
    { name: 'LockEdge', description: 'A lock and its place in the list.' },
  ),
);

/** Checks the arguments at once, so that a wrong one costs no query. */
function pageByName(args: PageArgs, filter: ListFilter): (context: GraphQLContext) => Promise<Page<LockRecord>> {
  const request = readPageArgs(args, byName);
  return async (context) => readPage(request, byName, readLocksByName(context.prisma, filter, await context.now()));
}

function pageByExpiry(args: PageArgs, filter: ListFilter): (context: GraphQLContext) => Promise<Page<LockRecord>> {
  const request = readPageArgs(args, byExpiry);
  return async (context) => readPage(request, byExpiry, await readLocksByExpiry(context.prisma, filter, await context.now()));
}
