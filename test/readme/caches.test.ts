import { isAbstractType, isObjectType, type GraphQLNamedType } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.js';
import { codeBlock } from './readme.js';

const TYPES = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
const ROOTS = ['Query', 'Mutation', 'Subscription'];

/** What stands in the braces after a key of a block. */
function braced(script: string, key: string): string {
  return new RegExp(`\\b${key}: \\{(.*?)^  \\}`, 'ms').exec(codeBlock('js', script).text)?.[1] ?? '';
}

/** An answer's own part, which no cache could find again. Connections are known to caches by their names. */
function isWithoutId(type: GraphQLNamedType): boolean {
  return (
    isObjectType(type) &&
    !('id' in type.getFields()) &&
    !/(Connection|Edge|PageInfo)$/.test(type.name) &&
    !ROOTS.includes(type.name)
  );
}

test('what the cache of Apollo Client is told of unions and interfaces is all of it', () => {
  const told = [...braced('apollo.mjs', 'possibleTypes').matchAll(/(\w+): \[(.*)\]/g)].map(([, name = '', members = '']) => [
    name,
    [...members.matchAll(/\w+/g)].map(String).sort(),
  ]);
  const all = TYPES.filter(isAbstractType).map((type) => [type.name, schema.getPossibleTypes(type).map(String).sort()]);
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(all));
});

test('what the cache of urql is told of types without an id is all of them', () => {
  const told = [...braced('urql.mjs', 'keys').matchAll(/(\w+): ofItsParent/g)].map(([, name]) => name);
  expect(told.sort()).toEqual(
    TYPES.filter(isWithoutId)
      .map(({ name }) => name)
      .sort(),
  );
});
