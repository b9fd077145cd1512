import { parseValue, type GraphQLScalarType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.js';

const scalar = (name: string) => schema.getType(name) as GraphQLScalarType;
const literal = (name: string, text: string) => scalar(name).parseLiteral(parseValue(text));

describe('BigInt', () => {
  test.each([0n, 5n, 2n ** 53n + 1n, 2n ** 63n - 1n])('%s is sent as a string of digits', (value) => {
    expect(scalar('BigInt').serialize(value)).toBe(String(value));
  });

  test.each([
    ['9007199254740993', 9007199254740993n],
    [42, 42n],
    [Number.MAX_SAFE_INTEGER, 9007199254740991n],
  ])('a variable of %j is read exactly', (value, read) => {
    expect(scalar('BigInt').parseValue(value)).toBe(read);
  });

  test.each(['9007199254740993', '"9007199254740993"'])('the literal %s is read exactly', (text) => {
    expect(literal('BigInt', text)).toBe(9007199254740993n);
  });

  test.each([2 ** 53, 1.5, '', '1e3', ' 1', '0x10', true, null, {}])('a variable of %j is refused', (value) => {
    expect(() => scalar('BigInt').parseValue(value)).toThrow(/whole number/);
  });

  test.each(['1.0', 'true', '[1]', '"x"'])('the literal %s is refused', (text) => {
    expect(() => literal('BigInt', text)).toThrow(/whole number/);
  });
});

describe('a number of more digits than any token has', () => {
  const LONG = '9'.repeat(20);

  test('is refused as a variable', () => {
    expect(() => scalar('BigInt').parseValue(LONG)).toThrow(/at most 19 digits/);
  });

  test.each([LONG, `-${LONG}`, `"${LONG}"`])('is refused as the literal %s', (text) => {
    expect(() => literal('BigInt', text)).toThrow(/at most 19 digits/);
  });
});

describe('DateTime', () => {
  test.each([1_767_225_600_001n, 1_767_225_600_001])('a moment is sent in UTC with milliseconds', (moment) => {
    expect(scalar('DateTime').serialize(moment)).toBe('2026-01-01T00:00:00.001Z');
  });

  test.each([
    ['2026-01-01T00:00:00.001Z', 1_767_225_600_001],
    ['2026-01-01t02:00:00+02:00', 1_767_225_600_000],
    ['2026-01-01T00:00:00.0019999Z', 1_767_225_600_001],
  ])('%s is read as the moment it names', (text, epochMs) => {
    expect(scalar('DateTime').parseValue(text)).toBe(epochMs);
    expect(literal('DateTime', JSON.stringify(text))).toBe(epochMs);
  });

  test.each(['2026-01-01', '2026-01-01T00:00:00', '2026-02-30T00:00:00Z', '2026-01-01T25:00:00Z', 'now', '', 0, null])(
    '%j is refused',
    (value) => {
      expect(() => scalar('DateTime').parseValue(value)).toThrow(/ISO 8601/);
    },
  );
});

describe('JSON', () => {
  test.each([{ host: 'h', pid: 7 }, [1, null, 'x'], 'text', 0, false])('%j comes back as it was sent', (value) => {
    expect(scalar('JSON').serialize(scalar('JSON').parseValue(value))).toEqual(value);
  });

  test('a literal is read like the value it writes', () => {
    expect(literal('JSON', '{host: "h", tags: [A, 1, 2.5, null, true]}')).toBe('{"host":"h","tags":["A",1,2.5,null,true]}');
  });

  test('4096 bytes of text are taken, one more is refused', () => {
    const text = 'é'.repeat(2047);
    expect(scalar('JSON').parseValue(text)).toBe(`"${text}"`);
    expect(() => scalar('JSON').parseValue(`${text}x`)).toThrow(/4096 bytes/);
  });

  test.each(['a\u0000b', '\ud800', { '\udfff': 1 }, '\\\u0000'])('%j can not be stored, and is refused', (value) => {
    expect(() => scalar('JSON').parseValue(value)).toThrow(/NUL or lone surrogates/);
  });

  test.each(['\\u0000', '\\\\ud800', '😀'])('the text %s only looks like that, and is taken', (value) => {
    expect(scalar('JSON').serialize(scalar('JSON').parseValue(value))).toBe(value);
  });

  test('a number that no JSON number can be is refused, not turned into null', () => {
    expect(() => literal('JSON', '{n: 1e999}')).toThrow(/finite/);
  });

  test('a value deeper than the stack is refused', () => {
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
    expect(() => scalar('JSON').parseValue(deep)).toThrow(/JSON value/);
  });
});
