import SchemaBuilder from '@pothos/core';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import type PrismaTypes from '../store/generated/pothos-types.js';
import { getDatamodel } from '../store/generated/pothos-types.js';
import type { EventRecord, LockRecord } from '../store/reads/records.js';
import type { GraphQLContext } from './context.js';
import { decodeGlobalId, encodeGlobalId, onlyNodeIds } from './global-id.js';
import { atMostAPage, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from './pagination.js';

type WithShape<Model, Shape> = Omit<Model, 'Shape'> & { Shape: Shape };

interface SchemaTypes {
  Context: GraphQLContext;
  DefaultFieldNullability: false;
  DefaultEdgesNullability: { list: false; items: false };
  DefaultNodeNullability: false;
  PrismaTypes: {
    DistributedLock: WithShape<PrismaTypes['DistributedLock'], LockRecord>;
    LockEvent: WithShape<PrismaTypes['LockEvent'], EventRecord>;
  };
  Scalars: {
    /** Epoch milliseconds. */
    DateTime: { Input: number; Output: number | bigint };
    BigInt: { Input: bigint; Output: bigint };
    /** JSON text. */
    JSON: { Input: string; Output: string };
  };
}

export const builder = new SchemaBuilder<SchemaTypes>({
  // Relay first: the Prisma plugin adds its own kinds of connection to what Relay's defines.
  plugins: [RelayPlugin, PrismaPlugin],
  // Pothos makes fields nullable unless told otherwise. Here null means something: that a lock is free, that none is held.
  defaultFieldNullability: false,
  prisma: {
    // The datamodel is of one database's client; the client of the moment may be that of the other.
    dmmf: getDatamodel(),
    client: ({ prisma }) => prisma,
  },
  relay: {
    cursorType: 'String',
    encodeGlobalID: encodeGlobalId,
    decodeGlobalID: decodeGlobalId,
    nodeTypeOptions: { description: 'Whatever has an id that finds it again by `node`; more types may come.' },
    idFieldOptions: { description: 'The same for the same thing, for ever; opaque.' },
    nodeQueryOptions: {
      description: 'The thing with that id, or null where there is none now: an expired lock, an event that is no longer kept.',
      args: { id: { description: 'An `id` or `lockId` that this server gave out.' } },
      resolve: (_root, { id }, _context, _info, resolveNode) => {
        onlyNodeIds('id', [id]);
        return resolveNode(id);
      },
    },
    nodesQueryOptions: {
      description:
        'The things with those ids, in their order, null where there is none now; at most server.limits.maxPageSize ids.',
      args: { ids: { description: 'Each an `id` or `lockId` that this server gave out.' } },
      resolve: (_root, { ids }, _context, _info, resolveNodes) => {
        atMostAPage('ids', ids.length);
        onlyNodeIds('ids', ids);
        return resolveNodes(ids);
      },
    },
    edgesFieldOptions: { nullable: { list: false, items: false }, description: 'The page, in the order of the list.' },
    nodeFieldOptions: { nullable: false, description: 'What stands at this place of the list.' },
    cursorFieldOptions: { description: 'Where this edge stands: goes on working after what stood there has gone; opaque.' },
    pageInfoFieldOptions: { description: 'Where this page stands in the list.' },
    pageInfoTypeOptions: { description: 'Where a page stands in its list.' },
    hasNextPageFieldOptions: { description: 'Whether there is anything after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether there is anything before this page.' },
    startCursorFieldOptions: {
      description: 'The cursor of the first edge: `before` it is the page before; null on an empty page.',
    },
    endCursorFieldOptions: { description: 'The cursor of the last edge: `after` it is the next page; null on an empty page.' },
    firstArgOptions: {
      description: `How many to show from the start; 1 to ${MAX_PAGE_SIZE}, ${DEFAULT_PAGE_SIZE} where left out. Not together with \`last\`.`,
    },
    lastArgOptions: { description: `How many to show from the end; 1 to ${MAX_PAGE_SIZE}. Not together with \`first\`.` },
    afterArgOptions: { description: 'Only what comes after this cursor.' },
    beforeArgOptions: { description: 'Only what comes before this cursor.' },
  },
});
