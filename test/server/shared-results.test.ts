import { setImmediate as nextTurn } from 'node:timers/promises';
import { GraphQLObjectType, GraphQLSchema, GraphQLString, parse } from 'graphql';
import { expect, onTestFinished, test, vi } from 'vitest';
import { schema } from '../../src/graphql/schema.js';
import { SharedResults } from '../../src/server/shared-results.js';
import { stillReferredTo } from '../support/heap.js';
import { lockEvent } from '../support/lock-values.js';

/** A subscription whose results count how often they were made. */
function fixture() {
  const resolve = vi.fn((item: { name: string }) => item.name);
  const Item = new GraphQLObjectType<{ name: string }>({
    name: 'Item',
    fields: {
      name: { type: GraphQLString, resolve },
      later: { type: GraphQLString, resolve: (item) => Promise.resolve(resolve(item)) },
      echo: { type: GraphQLString, args: { text: { type: GraphQLString } }, resolve: (_item, { text }: { text: string }) => text },
    },
  });
  const ofItems = new GraphQLSchema({
    query: new GraphQLObjectType({ name: 'Query', fields: { item: { type: GraphQLString } } }),
    subscription: new GraphQLObjectType({
      name: 'Subscription',
      fields: { items: { type: Item, args: { of: { type: GraphQLString } }, resolve: (item: { name: string }) => item } },
    }),
  });
  const shared = new SharedResults(ofItems, (result) => result);
  const executor = (document: ReturnType<typeof parse>, variableValues?: Record<string, unknown>, operationName?: string) =>
    shared.executorOf({ schema: ofItems, document, variableValues, operationName, contextValue: {} });
  return { executor, resolve };
}

const ITEM = { name: 'a' };
const NAME = parse('subscription ($of: String) { items(of: $of) { name } }');

test('the same of the same item is executed once, whatever the items were chosen by', () => {
  const { executor, resolve } = fixture();
  const results = [{ of: 'a' }, { of: 'b' }, {}].map((variables) => executor(NAME, variables)(ITEM));
  expect(results[0]).toEqual({ data: { items: { name: 'a' } } });
  expect(new Set(results).size).toBe(1);
  expect(resolve).toHaveBeenCalledOnce();
});

test('another item, and another document, have results of their own', () => {
  const { executor } = fixture();
  const other = parse('subscription { items { called: name } }');
  expect(executor(NAME)(ITEM)).toEqual({ data: { items: { name: 'a' } } });
  expect(executor(NAME)({ name: 'b' })).toEqual({ data: { items: { name: 'b' } } });
  expect(executor(other)(ITEM)).toEqual({ data: { items: { called: 'a' } } });
});

test('another operation of one document has results of its own', () => {
  const { executor } = fixture();
  const document = parse('subscription A { items { name } } subscription B { items { echo(text: "b") } }');
  expect(executor(document, {}, 'A')(ITEM)).toEqual({ data: { items: { name: 'a' } } });
  expect(executor(document, {}, 'B')(ITEM)).toEqual({ data: { items: { echo: 'b' } } });
});

test.each([
  ['an argument of a field', 'subscription ($x: String) { items { echo(text: $x) } }', 'x', 'y'],
  ['a directive of a field', 'subscription ($x: Boolean!) { items { name @include(if: $x) } }', true, false],
  ['a directive of the subscription', 'subscription ($x: Boolean!) { items @include(if: $x) { name } }', true, false],
  ['a fragment', 'subscription ($x: Boolean!) { ...I } fragment I on Subscription { items { name @skip(if: $x) } }', true, false],
])('another value of a variable in %s makes another result', (_, text, one, another) => {
  const { executor } = fixture();
  const document = parse(text);
  const results = [one, another, one].map((x) => executor(document, { x })(ITEM));
  expect(results[0]).toBe(results[2]);
  expect(results[0]).not.toEqual(results[1]);
});

test('a variable that is null is not one that is left out', () => {
  const { executor } = fixture();
  const document = parse('subscription ($x: String = "given") { items { echo(text: $x) } }');
  expect(executor(document, { x: null })(ITEM)).toEqual({ data: { items: { echo: null } } });
  expect(executor(document, {})(ITEM)).toEqual({ data: { items: { echo: 'given' } } });
});

test('what has to be waited for is shared by those who ask meanwhile, and made anew after that', async () => {
  const { executor, resolve } = fixture();
  const document = parse('subscription { items { later } }');
  const [first, second] = [executor(document)(ITEM), executor(document)(ITEM)];
  expect(await first).toEqual({ data: { items: { later: 'a' } } });
  expect(await second).toBe(await first);
  expect(resolve).toHaveBeenCalledOnce();
  expect(await executor(document)(ITEM)).not.toBe(await first);
});

test('a result is shared for a second, however long its item is kept', () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { executor, resolve } = fixture();
  const execute = executor(NAME);
  void execute(ITEM);
  vi.advanceTimersByTime(999);
  void execute(ITEM);
  expect(resolve).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1);
  void execute(ITEM);
  expect(resolve).toHaveBeenCalledTimes(2);
});

test('many documents, each run once, leave no result of an item that is kept', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { executor } = fixture();
  const documents = Array.from({ length: 100 }, (_, n) => parse(`subscription { items(of: "${n}") { name } }`));
  const results = documents.map((document) => new WeakRef(executor(document)(ITEM)));
  vi.advanceTimersByTime(1_000);
  await nextTurn();
  expect(stillReferredTo(results)).toEqual([]);
  // The item and the documents are kept until here.
  expect(executor(documents[0]!)(ITEM)).toEqual({ data: { items: { name: 'a' } } });
});

test('what a change says of itself is shared: nothing of it has to be waited for', () => {
  const shared = new SharedResults(schema, (result) => result);
  const document = parse(`subscription { lockChanges { __typename ... on LockEvent {
    revision type at lockId resource owner fencingToken expiresAt metadata lock { owner acquiredAt } } } }`);
  const execute = () => shared.executorOf({ schema, document, contextValue: { startAnswer: () => undefined } });
  const change = { kind: 'event', event: lockEvent({ metadata: '{"host":"h"}', owner: 'o' }) };
  const result = execute()(change);
  expect(result).toMatchObject({ data: { lockChanges: { revision: '7', lock: { owner: 'o' }, metadata: { host: 'h' } } } });
  expect(execute()(change)).toBe(result);
});
