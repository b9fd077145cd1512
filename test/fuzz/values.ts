import fc from 'fast-check';
import {
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
} from 'graphql';
import type { Part } from './document-writer.js';
import { oddCursor, oddId, oddMoment, oddNumber, oddText } from './odd-texts.js';

/** A value in both ways that it may be sent. */
export interface Value {
  readonly json: string;
  readonly literal: Part;
}

/** null as often as that, for each time that it is something. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>, nulls: number): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: nulls, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

const same = (text: string): Value => ({ json: text, literal: () => text });
const textValue = (text: fc.Arbitrary<string>) => text.map((value) => same(JSON.stringify(value)));
const numberValue = oddNumber.map(same);

/** Levels of lists within lists, up to more than any stack holds. */
const DEPTHS = [1, 20, 63, 64, 65, 500, 5_000, 100_000];

/** Characters of a list of many. */
const LONG_LIST = 1_200_000;

const KEYS = ['a', 'b', '__proto__', 'constructor', 'toString', 'length', 'then', 'toJSON', 'query'];

/** Anything that JSON can say, a name twice included. */
export const anyValue: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false', '""', '[]', '{}').map(same),
    numberValue,
    textValue(oddText),
    fc.array(tie('value'), { maxLength: 4 }).map(listOf),
    fc
      .array(fc.tuple(fc.constantFrom(...KEYS), seldom(oddText, 3), tie('value')), { maxLength: 4 })
      .map((fields) => objectOf(fields.map(([key, odd, value]) => ({ key, jsonKey: odd ?? key, value })))),
    fc.constantFrom(...DEPTHS).map((depth) => same('['.repeat(depth) + ']'.repeat(depth))),
  ),
})).value;

/** A value for an argument or an input field of that name and type: of that type as a rule, but seldom one that fits all rules. */
export function valueOf(name: string, type: GraphQLInputType): fc.Arbitrary<Value> {
  return fc.oneof(
    { weight: 24, arbitrary: typedValue(name, getNullableType(type)) },
    { weight: 1, arbitrary: isNonNullType(type) ? anyValue : fc.constant(same('null')) },
    { weight: 1, arbitrary: anyValue },
  );
}

function typedValue(name: string, type: GraphQLInputType): fc.Arbitrary<Value> {
  if (isListType(type)) return listValue(name, type.ofType);
  if (isInputObjectType(type)) return inputValue(type);
  if (isEnumType(type)) {
    const names = [...type.getValues(), { name: 'NOTHING' }].map((value) => value.name);
    return fc.constantFrom(...names).map((value) => ({ json: `"${value}"`, literal: () => value }));
  }
  const kind = isNonNullType(type) ? '' : type.toString();
  switch (kind) {
    case 'Int':
      return numberValue;
    case 'Boolean':
      return fc.constantFrom('true', 'false').map(same);
    case 'ID':
      return textValue(oddId);
    case 'BigInt':
      return fc.oneof(numberValue, textValue(fc.oneof(oddNumber, oddText)));
    case 'DateTime':
      return textValue(oddMoment);
    case 'JSON':
      return anyValue;
    case 'String':
      return textValue(name === 'after' || name === 'before' ? oddCursor : oddText);
    default:
      throw new Error(`There are no values of the type ${kind}`);
  }
}

function listValue(name: string, type: GraphQLInputType): fc.Arbitrary<Value> {
  const item = valueOf(name, type);
  return fc.oneof(
    { weight: 8, arbitrary: fc.array(item, { maxLength: 4 }).map(listOf) },
    // A list of one may be left away.
    { weight: 1, arbitrary: item },
    {
      weight: 1,
      arbitrary: fc.tuple(item, fc.constantFrom(2, 500, 501, 1_001)).map(([one, times]) => repeated(one, times)),
    },
  );
}

/** As often as that, but for what would make more than a little more than a request may have. */
function repeated(item: Value, times: number): Value {
  return listOf(Array<Value>(Math.min(times, Math.ceil(LONG_LIST / item.json.length))).fill(item));
}

/** Its fields, as a rule those that it must have, and seldom one that it has not. */
function inputValue(type: GraphQLInputObjectType): fc.Arbitrary<Value> {
  const fields = Object.values(type.getFields()).map((field) => fieldValue(field));
  const unknown = seldom(anyValue, 60).map((value) => ({ key: 'nothing', value, asVariable: null }));
  const twice = seldom(fc.nat(fields.length - 1), 60);
  return fc.tuple(fc.tuple(...fields), unknown, twice).map(([known, other, again]) => {
    const given = [...known, other].filter((field) => field.value !== null) as GivenField[];
    const repeated = again === null ? undefined : given[again % Math.max(given.length, 1)];
    return objectOf(repeated === undefined ? given : [...given, repeated]);
  });
}

interface GivenField {
  readonly key: string;
  readonly jsonKey?: string;
  readonly value: Value;
  /** The type of the variable that stands in a literal in its place; left out or null: none does. */
  readonly asVariable?: string | null;
}

function fieldValue(field: GraphQLInputField) {
  const given = fc.integer({ min: 0, max: 99 }).map((chance) => chance < (isRequiredInputField(field) ? 98 : 40));
  return fc.tuple(given, valueOf(field.name, field.type), fc.integer({ min: 0, max: 9 })).map(([isGiven, value, chance]) => ({
    key: field.name,
    value: isGiven ? value : null,
    asVariable: chance === 9 ? field.type.toString() : null,
  }));
}

function listOf(items: readonly Value[]): Value {
  return {
    json: `[${items.map(({ json }) => json).join(',')}]`,
    literal: (writer) => `[${items.map(({ literal }) => literal(writer)).join(', ')}]`,
  };
}

function objectOf(fields: readonly GivenField[]): Value {
  return {
    json: `{${fields.map(({ key, jsonKey = key, value }) => `${JSON.stringify(jsonKey)}:${value.json}`).join(',')}}`,
    literal: (writer) => {
      const texts = fields.map(
        ({ key, value, asVariable = null }) =>
          `${key}: ${asVariable === null ? value.literal(writer) : writer.variable(asVariable, value.json)}`,
      );
      return `{ ${texts.join(', ')} }`;
    },
  };
}
