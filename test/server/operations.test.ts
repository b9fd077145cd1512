import { GraphQLObjectType, GraphQLSchema, GraphQLString } from 'graphql';
import { expect, test, vi } from 'vitest';
import { Metrics } from '../../src/observability/metrics.js';
import { DEFAULT_LIMITS } from '../../src/server/limits.js';
import { Operations } from '../../src/server/operations.js';

/** Operations on a schema with a subscription to one item, the same for all, whose results count how often they were made. */
function fixture() {
  const item = { name: 'a' };
  const resolve = vi.fn(({ name }: typeof item) => name);
  const subscribe = async function* () {
    yield item;
  };
  const schema = new GraphQLSchema({
    query: new GraphQLObjectType({ name: 'Query', fields: { name: { type: GraphQLString } } }),
    subscription: new GraphQLObjectType({ name: 'Subscription', fields: { names: { type: GraphQLString, subscribe, resolve } } }),
  });
  const operations = new Operations({
    schema,
    createContext: () => ({}),
    introspection: true,
    limits: DEFAULT_LIMITS,
    maskError: (error) => error as never,
    metrics: new Metrics(() => Promise.resolve(0)),
  });
  return { operations, resolve };
}

test.each(['websocket', 'sse'] as const)('an event that 100 watches by %s are told is executed once', async (transport) => {
  const { operations, resolve } = fixture();
  const results = Array.from({ length: 100 }, async () => {
    const position = { lastEventId: null, revision: null };
    const caller = { position, turns: null, gone: () => new AbortController().signal, hasCompleted: () => false };
    const operation = operations.prepare({ query: 'subscription { names }', caller }, transport);
    if (!('schema' in operation)) throw new Error('Refused');
    const stream = await operations.subscribe(operation);
    if (!('next' in stream)) throw new Error('Not begun');
    return (await stream.next()).value;
  });
  const [first, ...others] = await Promise.all(results);
  expect(first).toEqual({ data: { names: 'a' } });
  for (const other of others) expect(other).toBe(first);
  expect(resolve).toHaveBeenCalledOnce();
});
