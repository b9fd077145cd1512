import { buildSchema, parse, validate } from 'graphql';
import { expect, test } from 'vitest';
import { UnconditionalSubscriptionsRule } from '../../src/server/unconditional-subscriptions.js';

const schema = buildSchema('type Query { name: String } type Item { name: String } type Subscription { items: Item }');

function errorsIn(document: string): string[] {
  return validate(schema, parse(document), [UnconditionalSubscriptionsRule]).map(({ message }) => message);
}

test.each([
  ['@skip on its field', 'subscription { items @skip(if: true) { name } }'],
  ['@include with a variable', 'subscription ($x: Boolean!) { items @include(if: $x) { name } }'],
  ['@skip on an inline fragment', 'subscription { ... @skip(if: false) { items { name } } }'],
  ['@include on a spread', 'subscription { ...I @include(if: true) } fragment I on Subscription { items { name } }'],
  [
    '@skip within a fragment',
    'subscription { ...I } fragment I on Subscription { ...J } fragment J on Subscription { items @skip(if: true) }',
  ],
])('a subscription with %s is refused', (_, document) => {
  expect(errorsIn(document)).toEqual(['A subscription must not have @skip or @include at its top level']);
});

test.each([
  ['a condition below its field', 'subscription { items { name @skip(if: true) } }'],
  ['fragments without conditions', 'subscription { ...I } fragment I on Subscription { ... { items { name } } }'],
  [
    'fragments that contain each other',
    'subscription { ...I } fragment I on Subscription { ...J } fragment J on Subscription { ...I }',
  ],
  ['a fragment that there is none of', 'subscription { ...I }'],
])('a subscription with %s is not refused for it', (_, document) => {
  expect(errorsIn(document)).toEqual([]);
});

test('a query may have conditions at its top level', () => {
  expect(errorsIn('{ name @skip(if: true) }')).toEqual([]);
});
