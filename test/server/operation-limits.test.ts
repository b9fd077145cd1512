import { parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/server/limits.js';
import { checkShape, checkText } from '../../src/server/operation-limits.js';
import { startTestApp } from '../support/app.js';
import { post } from '../support/http-client.js';
import { shared } from '../support/shared.js';

const app = shared(() => startTestApp());

const codeOf = async (query: string) => {
  const { errors } = await post((await app()).url, query);
  return errors?.[0]?.extensions['code'];
};

describe('a document', () => {
  test.each(['[', '{', '(', '{a(b:[', 'query($a:['])('of %s without end is refused, not crashed on', async (text) => {
    expect(await codeOf(text.repeat(200_000 / text.length))).toBe('OPERATION_LIMIT_EXCEEDED');
  });

  test('that multiplies its fields by fragments is refused', async () => {
    const fragments = Array.from({ length: 20 }, (_, n) => `fragment f${n} on Query { ...f${n + 1} ...f${n + 1} }`).join(' ');
    expect(await codeOf(`{ ...f0 } ${fragments} fragment f20 on Query { __typename }`)).toBe('OPERATION_LIMIT_EXCEEDED');
  });

  test('whose fragments run in a circle is invalid', async () => {
    expect(await codeOf('{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }')).toBe('GRAPHQL_VALIDATION_FAILED');
  });
});

describe('the nesting of a text', () => {
  test.each([
    ['in a string', `{ a(b: "${'{'.repeat(1_000)}") }`],
    ['after an escaped quote', `{ a(b: "\\"${'{'.repeat(1_000)}") }`],
    ['in a block string', `{ a(b: """ " \\""" ${'{'.repeat(1_000)} """) }`],
    ['in a comment', `{ a # ${'{'.repeat(1_000)}\n }`],
  ])('%s does not count', (_, text) => {
    expect(checkText(text, DEFAULT_LIMITS)).toBeNull();
  });

  test.each([
    ['a string', `{ a(b: "x") ${'{ a '.repeat(DEFAULT_LIMITS.nesting)}`],
    ['an empty string', `{ a(b: "") ${'{ a '.repeat(DEFAULT_LIMITS.nesting)}`],
    ['a block string', `{ a(b: """ \\""" """) ${'{ a '.repeat(DEFAULT_LIMITS.nesting)}`],
    ['a comment', `# x\r${'{ a '.repeat(DEFAULT_LIMITS.nesting + 1)}`],
    ['a string without an end', `{ a(b: "\n${'{ a '.repeat(DEFAULT_LIMITS.nesting)}`],
  ])('after %s counts', (_, text) => {
    expect(checkText(text, DEFAULT_LIMITS)).not.toBeNull();
  });
});

describe('the shape of a document', () => {
  const deep = (depth: number) => `${'{ a '.repeat(depth)}${'}'.repeat(depth)}`;

  test('at the limit of depth passes, above it is refused', () => {
    expect(checkShape(parse(deep(DEFAULT_LIMITS.depth)), DEFAULT_LIMITS)).toBeNull();
    expect(checkShape(parse(deep(DEFAULT_LIMITS.depth + 1)), DEFAULT_LIMITS)).not.toBeNull();
  });

  test('counts the depth of a fragment where it is spread', () => {
    const half = DEFAULT_LIMITS.depth / 2;
    const text = `${'{ a '.repeat(half)} { ...f } ${'}'.repeat(half)} fragment f on T ${deep(half + 1)}`;
    expect(checkShape(parse(text), DEFAULT_LIMITS)).not.toBeNull();
  });
});
