import { parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/server/limits.js';
import { checkNesting, checkShape } from '../../src/server/operation-limits.js';
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

  test('of too many tokens is refused', async () => {
    expect(await codeOf(`{ ${'a '.repeat(LIMITS.tokens)} }`)).toBe('OPERATION_LIMIT_EXCEEDED');
  });

  test('of too many fields of its own is refused, whatever their aliases', async () => {
    const fields = (count: number) => Array.from({ length: count }, (_, n) => `f${n}: __typename`).join(' ');
    expect(await codeOf(`{ ${fields(LIMITS.rootFields)} }`)).toBeUndefined();
    expect(await codeOf(`{ ${fields(LIMITS.rootFields + 1)} }`)).toBe('OPERATION_LIMIT_EXCEEDED');
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
    expect(checkNesting(text)).toBeNull();
  });

  test.each([
    ['a string', `{ a(b: "x") ${'{ a '.repeat(LIMITS.nesting)}`],
    ['an empty string', `{ a(b: "") ${'{ a '.repeat(LIMITS.nesting)}`],
    ['a block string', `{ a(b: """ \\""" """) ${'{ a '.repeat(LIMITS.nesting)}`],
    ['a comment', `# x\r${'{ a '.repeat(LIMITS.nesting + 1)}`],
    ['a string without an end', `{ a(b: "\n${'{ a '.repeat(LIMITS.nesting)}`],
  ])('after %s counts', (_, text) => {
    expect(checkNesting(text)).not.toBeNull();
  });
});

describe('the shape of a document', () => {
  const deep = (depth: number) => `${'{ a '.repeat(depth)}${'}'.repeat(depth)}`;

  test('at the limit of depth passes, above it is refused', () => {
    expect(checkShape(parse(deep(LIMITS.depth)))).toBeNull();
    expect(checkShape(parse(deep(LIMITS.depth + 1)))).not.toBeNull();
  });

  test('counts the depth of a fragment where it is spread', () => {
    const half = LIMITS.depth / 2;
    const text = `${'{ a '.repeat(half)} { ...f } ${'}'.repeat(half)} fragment f on T ${deep(half + 1)}`;
    expect(checkShape(parse(text))).not.toBeNull();
  });
});
