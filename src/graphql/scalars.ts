import { GraphQLError, Kind, print, TokenKind, valueFromASTUntyped, visit, type ValueNode } from 'graphql';
import { builder } from './builder.js';
import { badUserInput } from './errors.js';
import { JSON_RULE, toJsonText } from './json-text.js';

builder.scalarType('DateTime', {
  description: 'A moment in UTC: ISO 8601 with milliseconds and Z; takes any offset, and drops what is finer than a millisecond.',
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time',
  serialize: (epochMs) => new Date(Number(epochMs)).toISOString(),
  parseValue: (value) => readVariable(readDateTime(value), DATE_TIME_RULE),
  parseLiteral: (ast) => readLiteral(ast, ast.kind === Kind.STRING ? readDateTime(ast.value) : null, DATE_TIME_RULE),
});

builder.scalarType('BigInt', {
  description:
    'A whole number of any size, always sent as a string of digits; takes a string of digits, an integer literal, or a JSON integer up to 2^53 - 1.',
  serialize: (value) => String(value),
  parseValue: (value) => readVariable(readBigInt(value), BIG_INT_RULE),
  parseLiteral: (ast) =>
    readLiteral(ast, ast.kind === Kind.STRING || ast.kind === Kind.INT ? readBigInt(ast.value) : null, BIG_INT_RULE),
});

builder.scalarType('JSON', {
  description: 'Any JSON value, at most 4 KiB as text.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  // Inside the server a JSON value is its text.
  serialize: (text) => JSON.parse(text) as unknown,
  parseValue: (value) => readVariable(toJsonText(value), JSON_RULE),
  parseLiteral: (ast) => {
    refuseVariables(ast);
    return readLiteral(ast, literalToJsonText(ast), JSON_RULE);
  },
});

const DATE_TIME_RULE = 'a moment as ISO 8601 with a time and an offset, such as 2026-05-01T12:00:00.000Z';
const BIG_INT_RULE =
  'a whole number of at most 19 digits: as a string of digits, an integer literal, or a JSON integer up to 2^53 - 1';

const DATE_TIME = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/iu;

function readDateTime(value: unknown): number | null {
  const day = typeof value === 'string' ? DATE_TIME.exec(value)?.[1] : undefined;
  if (day === undefined) return null;
  // Date turns the 30th of February into the 2nd of March.
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day) return null;
  const epochMs = Date.parse((value as string).toUpperCase());
  return Number.isNaN(epochMs) ? null : epochMs;
}

// As many digits as 2^63 - 1 has. Reading digits takes more than linear time, in which no other operation runs.
const WHOLE_NUMBER = /^-?\d{1,19}$/u;

function readBigInt(value: unknown): bigint | null {
  if (typeof value === 'string' && WHOLE_NUMBER.test(value)) return BigInt(value);
  // A larger JSON number may have been rounded before it came here.
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  return null;
}

/**
 * A variable has been read by the time its literal is, by a type that isn't known here: what came of it (a moment as a number,
 * JSON as text) would be stored in place of what was sent.
 */
function refuseVariables(ast: ValueNode): void {
  visit(ast, {
    Variable: ({ name }) => {
      const argument = argumentOf(ast);
      const message = `${argument} must not be a literal with a variable in it, as $${name.value} is: send the whole value as one variable`;
      throw badUserInput(argument, message);
    },
  });
}

function literalToJsonText(ast: ValueNode): string | null {
  try {
    return toJsonText(valueFromASTUntyped(ast));
  } catch {
    // More levels than the stack holds.
    return null;
  }
}

/** graphql-js says of a variable which argument it is: presenting the error takes it from there. */
function readVariable<T>(value: T | null, rule: string): T {
  if (value === null) throw new GraphQLError(`It must be ${rule}`);
  return value;
}

function readLiteral<T>(ast: ValueNode, value: T | null, rule: string): T {
  if (value !== null) return value;
  const argument = argumentOf(ast);
  throw badUserInput(argument, `${argument} must be ${rule}, not ${shorten(print(ast))}`);
}

/** The name before the colon before the literal. */
function argumentOf(ast: ValueNode): string {
  const colon = ast.loc?.startToken.prev;
  return colon?.kind === TokenKind.COLON && colon.prev !== null ? colon.prev.value : 'argument';
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}
