import type { GraphQLError } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.js';
import { Metrics } from '../../src/observability/metrics.js';
import { Documents } from '../../src/server/documents.js';
import { DEFAULT_LIMITS } from '../../src/server/limits.js';
import { dataOf, expectBadInput, startApi } from './api.js';

const acquire = (variables: string, metadata: string) =>
  `mutation ${variables} { acquireLock(input: { resource: "r", owner: "o", metadata: ${metadata} }) {
    ... on LockAcquired { lock { metadata } } } }`;

const release = (token: string) =>
  `mutation { releaseLock(input: { resource: "r", owner: "o", fencingToken: ${token} }) { __typename } }`;

test.each([
  ['($v: JSON)', '{ a: $v }', { k: 1 }],
  ['($v: DateTime)', '[1, { at: $v }]', '2026-01-01T00:00:00.000Z'],
  ['($v: JSON)', '[$v]', undefined],
])('a variable %s inside the JSON literal %s is refused, not stored as something else', async (variables, metadata, v) => {
  const { run } = await startApi();
  expectBadInput(await run(acquire(variables, metadata), { v }), 'metadata', /\$v is: send the whole value as one variable/);
  expect(dataOf(await run('{ lock(resource: "r") { id } }'))).toEqual({ lock: null });
});

test('a JSON value that is a variable as a whole is stored as it was sent', async () => {
  const { run } = await startApi();
  const v = { a: { k: 1 }, d: '2026-01-01T00:00:00.000Z' };
  expect(dataOf(await run(acquire('($v: JSON)', '$v'), { v })).acquireLock.lock.metadata).toEqual(v);
});

test.each([
  ['metadata: 1e999', acquire('', '1e999'), 'metadata'],
  ['metadata with a variable in it', acquire('($v: JSON)', '{ a: $v }'), 'metadata'],
  ['fencingToken: 1.0', release('1.0'), 'fencingToken'],
  ['a fencingToken of a million digits', release('9'.repeat(1_000_000)), 'fencingToken'],
  ['since: "now"', '{ lockEvents(filter: { since: "now" }) { edges { cursor } } }', 'since'],
])('the literal %s is a value that can not be read, not a document that does not fit', (_, document, argument) => {
  expect(refusalsOf(document)).toEqual([{ code: 'BAD_USER_INPUT', argument }]);
});

test('a literal that no Int can be does not fit the schema', () => {
  expect(refusalsOf('{ locks(first: 2147483648) { totalCount } }')).toEqual([{ code: 'GRAPHQL_VALIDATION_FAILED' }]);
});

function refusalsOf(text: string): unknown {
  const metrics = new Metrics(() => Promise.resolve(0));
  const documents = new Documents({ schema, introspection: false, limits: DEFAULT_LIMITS, metrics });
  const errors = documents.read(text) as readonly GraphQLError[];
  return errors.map(({ extensions }) => extensions);
}
