import { parse, validate } from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.js';
import { checkAnswer } from '../../src/server/answer-limit.js';
import { DEFAULT_LIMITS } from '../../src/server/limits.js';
import { startTestApp } from '../support/app.js';
import { post } from '../support/http-client.js';

const aliases = (count: number, field = 'remainingMs') => Array.from({ length: count }, (_, n) => `a${n}: ${field}`).join(' ');

function isRefused(text: string): boolean {
  const document = parse(text);
  expect(validate(schema, document)).toEqual([]);
  return checkAnswer(schema, document, DEFAULT_LIMITS) !== null;
}

/** The fields that each row may have where the page has that many, and nothing but them: the list, the edge and the node. */
const fieldsFor = (rows: number) => Math.floor((DEFAULT_LIMITS.answerValues - 1) / rows) - 2;

describe('an answer', () => {
  test.each([
    ['(first: 500)', 500],
    ['(last: 100)', 100],
    ['(first: 5000)', 500],
    ['(first: null, last: 200)', 200],
    ['', 50],
  ])('of locks%s has as many rows as its page may have', (args, rows) => {
    const query = (fields: number) => `{ locks${args} { edges { node { ${aliases(fields)} } } } }`;
    expect(isRefused(query(fieldsFor(rows)))).toBe(false);
    expect(isRefused(query(fieldsFor(rows) + 1))).toBe(true);
  });

  test('of a page of variable size has as many rows as a page may have', () => {
    const query = (fields: number) => `query ($n: Int) { locks(first: $n) { edges { node { ${aliases(fields)} } } } }`;
    expect([isRefused(query(fieldsFor(500))), isRefused(query(fieldsFor(500) + 1))]).toEqual([false, true]);
  });

  test('has the values of a fragment wherever it is spread', () => {
    const query = (fields: number) => `{ locks(first: 500) { ...rows } }
      fragment rows on LockConnection { edges { ... { node { ...lock } } } } fragment lock on Lock { ${aliases(fields)} }`;
    expect([isRefused(query(fieldsFor(500))), isRefused(query(fieldsFor(500) + 1))]).toEqual([false, true]);
  });

  test('of nodes has one for each id', () => {
    const query = (ids: string) =>
      `query ($ids: [ID!]!) { a: nodes(ids: $ids) { id } nodes(ids: ${ids}) { ... on Lock { ${aliases(300)} } } }`;
    expect([isRefused(query('["a", "b"]')), isRefused(query('$ids'))]).toEqual([false, true]);
  });

  test('of a watch has the locks of a part of its snapshot', () => {
    const query = (fields: number) =>
      `subscription { lockChanges(filter: { prefix: "a" }) { ... on LockSnapshot { locks { ${aliases(fields)} } } } }`;
    expect([isRefused(query(40)), isRefused(query(200))]).toEqual([false, true]);
  });

  test('that may be too long is refused, and says how long it may be', async () => {
    const { url } = await startTestApp();
    for (const query of [
      `{ locks(first: 500) { edges { node { ${aliases(640)} } } } }`,
      `{ ${aliases(45, 'locks(first: 500) { edges { node { resource } } }')} }`,
    ]) {
      const { errors } = await post(url, query);
      expect(errors?.[0]?.extensions['code']).toBe('OPERATION_LIMIT_EXCEEDED');
      expect(errors?.[0]?.message).toContain(`at most ${DEFAULT_LIMITS.answerValues} values`);
    }
  });
});
