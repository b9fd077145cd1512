import fc from 'fast-check';
import {
  type ASTNode,
  type DocumentNode,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  Kind,
  parse,
  TypeInfo,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { expect, test } from 'vitest';
import { OPERATION_TYPES, operations, schema } from './documents.js';

/** Enough of each type to come by everything. */
const DOCUMENTS = { numRuns: 400, seed: 1 };

test('the random operations reach every field, argument and input field of the schema', () => {
  const reached = new Set<string>();
  for (const { query } of OPERATION_TYPES.flatMap((type) => fc.sample(operations(type), DOCUMENTS))) addReached(query, reached);
  expect(everything().filter((name) => !reached.has(name))).toEqual([]);
});

test('most of the random operations are valid, and have variables', () => {
  const sampled = OPERATION_TYPES.flatMap((type) => fc.sample(operations(type), { ...DOCUMENTS, numRuns: 200 }));
  const valid = sampled.filter(({ query }) => validDocument(query) !== null);
  expect(valid.length).toBeGreaterThan(sampled.length / 2);
  expect(valid.filter(({ variables }) => variables !== '{}').length).toBeGreaterThan(sampled.length / 4);
});

/** null: not even that. A lone surrogate in a literal is a syntax error. */
function validDocument(query: string): DocumentNode | null {
  try {
    const document = parse(query);
    return validate(schema, document).length === 0 ? document : null;
  } catch {
    return null;
  }
}

function addReached(query: string, reached: Set<string>): void {
  const document = validDocument(query);
  if (document === null) return;
  const info = new TypeInfo(schema);
  const enter = (node: ASTNode) => {
    if (node.kind === Kind.FIELD) reached.add(`${info.getParentType()?.name}.${info.getFieldDef()?.name}`);
    if (node.kind === Kind.ARGUMENT)
      reached.add(`${info.getParentType()?.name}.${info.getFieldDef()?.name}(${info.getArgument()?.name})`);
    if (node.kind === Kind.OBJECT_FIELD) reached.add(`${nameOf(String(info.getParentInputType()))}.${node.name.value}`);
  };
  visit(document, visitWithTypeInfo(info, { enter }));
}

/** Without what says that there must be a value, or a list of them. */
function nameOf(type: string): string {
  return type.replaceAll(/[![\]]/g, '');
}

function everything(): string[] {
  return Object.values(schema.getTypeMap()).flatMap((type) => {
    if (isIntrospectionType(type)) return [];
    if (isInputObjectType(type)) return Object.keys(type.getFields()).map((field) => `${type.name}.${field}`);
    if (!isObjectType(type) && !isInterfaceType(type)) return [];
    return Object.values(type.getFields()).flatMap(({ name, args }) => [
      `${type.name}.${name}`,
      ...args.map((arg) => `${type.name}.${name}(${arg.name})`),
    ]);
  });
}
