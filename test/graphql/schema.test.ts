import { readFileSync } from 'node:fs';
import {
  buildSchema,
  findBreakingChanges,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  printSchema,
  validateSchema,
} from 'graphql';
import { expect, test } from 'vitest';
import { ErrorCode } from '../../src/graphql/errors.js';
import { schema } from '../../src/graphql/schema.js';

test('schema.graphql is what the code says', () => {
  const printed = readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8');
  expect(printed, 'schema.graphql is stale: renew it with `npm run schema`').toBe(`${printSchema(schema)}\n`);
});

test('the schema is valid', () => {
  expect(validateSchema(schema)).toEqual([]);
});

test('nothing that clients were promised is missing or changed', () => {
  const contract = buildSchema(readFileSync(new URL('contract.graphql', import.meta.url), 'utf8'));
  expect(findBreakingChanges(contract, schema)).toEqual([]);
});

test('everything in the schema is described', () => {
  expect(undescribed()).toEqual([]);
});

test('what lists members, reasons or types tells clients that more may come', () => {
  const lists = Object.values(schema.getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && ('getTypes' in type || (isEnumType(type) && type.name !== 'LockOrder')),
  );
  expect(lists.filter(({ description }) => !description?.includes('more')).map(({ name }) => name)).toEqual([]);
});

test('the error codes documented in the schema are those of the code', () => {
  const documented = [...(schema.description ?? '').matchAll(/^- ([A-Z_, ]+):/gm)].flatMap(([, list = '']) => list.split(', '));
  expect(documented.toSorted()).toEqual(Object.values(ErrorCode).toSorted());
});

function undescribed(): string[] {
  const found: string[] = [];
  const check = (name: string, { description }: { readonly description?: string | null | undefined }) => {
    if (!description) found.push(name);
  };
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || isSpecifiedScalarType(type)) continue;
    check(type.name, type);
    if (isEnumType(type)) for (const value of type.getValues()) check(`${type.name}.${value.name}`, value);
    if (isInputObjectType(type)) for (const field of Object.values(type.getFields())) check(`${type.name}.${field.name}`, field);
    if (!isObjectType(type) && !isInterfaceType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      check(`${type.name}.${field.name}`, field);
      for (const arg of field.args) check(`${type.name}.${field.name}(${arg.name})`, arg);
    }
  }
  return found;
}
