import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import {
  buildSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isNonNullType,
  isRequiredArgument,
  type GraphQLArgument,
  type GraphQLCompositeType,
  type GraphQLField,
} from 'graphql';
import { DocumentWriter, type Operation, type Part } from './document-writer.js';
import { editsOf, type Edit } from './edits.js';
import { valueOf } from './values.js';

export const schema = buildSchema(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'));

export const OPERATION_TYPES = ['query', 'mutation', 'subscription'] as const;
export type OperationType = (typeof OPERATION_TYPES)[number];

/** Fields within fields, at the most. A page of events with their locks goes four deep. */
const DEPTH = 5;

const chance = (percent: number) => fc.integer({ min: 0, max: 99 }).map((drawn) => drawn >= 100 - percent);

/** Operations of any field, with any arguments, aliases, fragments, directives and variables: valid but for values. */
export function operations(type: OperationType): fc.Arbitrary<Operation> {
  const root = rootOf(type);
  const fields = Object.values(root.getFields()).map((field) => fieldPart(field, DEPTH));
  const few = fc.array(fc.oneof(...fields), { minLength: 1, maxLength: type === 'subscription' ? 1 : 3 });
  return few.map((parts) => new DocumentWriter().operation(type, (writer) => blockOf(parts, writer)));
}

function editTokens(query: string, edits: readonly Edit<string>[]): string {
  return edits.reduce((tokens, edit) => edit(tokens), tokensOf(query)).join(' ');
}

function tokensOf(text: string): string[] {
  return text.match(/"(?:\\.|[^"\\])*"|\.\.\.|[@$]?\w+|[^\s]/gu) ?? [];
}

function rootOf(type: OperationType) {
  return { query: schema.getQueryType(), mutation: schema.getMutationType(), subscription: schema.getSubscriptionType() }[type]!;
}

const selections = new Map<string, fc.Arbitrary<Part>>();

/** What may be asked of a type, in braces. */
function selectionOf(type: GraphQLCompositeType, depth: number): fc.Arbitrary<Part> {
  const key = `${type.name}/${depth}`;
  const known = selections.get(key);
  if (known !== undefined) return known;
  const arbitrary = fc
    .array(selectionPart(type, depth), { minLength: 1, maxLength: 4 })
    .map((parts) => (writer: DocumentWriter) => blockOf(parts, writer));
  selections.set(key, arbitrary);
  return arbitrary;
}

function blockOf(parts: readonly Part[], writer: DocumentWriter): string {
  return `{ ${parts.map((part) => part(writer)).join(' ')} }`;
}

function selectionPart(type: GraphQLCompositeType, depth: number): fc.Arbitrary<Part> {
  const own = 'getFields' in type ? Object.values(type.getFields()) : [];
  const fields = own
    .filter((field) => depth > 1 || !isCompositeType(getNamedType(field.type)))
    .map((field) => fieldPart(field, depth));
  const choices: fc.WeightedArbitrary<Part>[] = [
    { weight: 1, arbitrary: directives.map((directive) => (writer) => `__typename ${directive(writer)}`) },
    ...fields.map((arbitrary) => ({ weight: 2, arbitrary })),
  ];
  if (depth > 1) choices.push({ weight: isAbstractType(type) ? 12 : 1, arbitrary: fragmentPart(type, depth) });
  return fc.oneof(...choices);
}

function fragmentPart(type: GraphQLCompositeType, depth: number): fc.Arbitrary<Part> {
  const possible = isAbstractType(type) ? schema.getPossibleTypes(type) : [];
  const types = [type, ...possible, ...new Set(possible.flatMap((each) => each.getInterfaces()))];
  return fc.constantFrom(...types).chain((condition) =>
    fc.tuple(selectionOf(condition, depth - 1), chance(40), directives).map(
      ([selection, isNamed, directive]) =>
        (writer) =>
          isNamed
            ? `...${writer.fragment(condition.name, selection)} ${directive(writer)}`
            : `... on ${condition.name} ${directive(writer)} ${selection(writer)}`,
    ),
  );
}

function fieldPart({ name, type, args }: GraphQLField<unknown, unknown>, depth: number): fc.Arbitrary<Part> {
  const named = getNamedType(type);
  const selection = isCompositeType(named) ? selectionOf(named, depth - 1) : fc.constant(() => '');
  const given = fc.tuple(...args.map((arg) => argumentPart(arg)));
  return fc.tuple(given, directives, selection, chance(20)).map(([argumentsOf, directive, below, isAliased]) => (writer) => {
    const texts = argumentsOf.map((part) => part(writer)).filter((text) => text !== '');
    // Two fields of one name must ask for the same.
    const alias = isAliased || args.length > 0 ? `${writer.alias()}: ` : '';
    return `${alias}${name}${texts.length === 0 ? '' : `(${texts.join(', ')})`} ${directive(writer)} ${below(writer)}`;
  });
}

/** As a literal, as a variable, or as the default of a variable that is not sent; empty where it is left out. */
function argumentPart(arg: GraphQLArgument): fc.Arbitrary<Part> {
  const { name, type } = arg;
  const isGiven = isRequiredArgument(arg) ? chance(99) : chance(40);
  const way = fc.constantFrom('literal', 'variable', 'variable', 'default', 'nothing is sent');
  return fc.tuple(isGiven, way, valueOf(name, type)).map(([given, how, value]) => (writer) => {
    if (!given) return '';
    const nullable = isNonNullType(type) ? type.ofType.toString() : type.toString();
    switch (how) {
      case 'literal':
        return `${name}: ${value.literal(writer)}`;
      case 'variable':
        return `${name}: ${writer.variable(type.toString(), value.json)}`;
      case 'default':
        return `${name}: ${writer.variable(`${nullable} = ${value.literal(new DocumentWriter())}`, null)}`;
      case 'nothing is sent':
        return `${name}: ${writer.variable(type.toString(), null)}`;
    }
  });
}

const directives: fc.Arbitrary<Part> = fc
  .tuple(chance(8), fc.constantFrom('skip', 'include'), fc.constantFrom('true', 'false', null))
  .map(
    ([isGiven, name, literal]) =>
      (writer) =>
        isGiven ? `@${name}(if: ${literal ?? writer.variable('Boolean!', 'true')})` : '',
  );

/** Operations of all types. */
export const anyOperation: fc.Arbitrary<Operation> = fc.oneof(...OPERATION_TYPES.map((type) => operations(type)));

/** The same, of which a few tokens are missing, doubled, or in the place of others. */
export const brokenOperation: fc.Arbitrary<Operation> = fc
  .tuple(
    anyOperation,
    fc.array(editsOf(fc.constantFrom(...tokensOf('{ } ( ) [ ] : ! = | & ... @skip $v query on fragment null 1 "" """ # "')), 0), {
      minLength: 1,
      maxLength: 4,
    }),
  )
  .map(([{ query, variables }, edits]) => ({ query: editTokens(query, edits), variables }));
