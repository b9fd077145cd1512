import { GraphQLError } from 'graphql';
import { expect, test } from 'vitest';
import { presentError } from '../../src/graphql/errors.js';
import { expectBadInput, startApi } from './api.js';

const NAME_LENGTH = 100_000;

test('a variable that imitates the sentence which names the argument takes little time', async () => {
  const { run } = await startApi();
  const started = performance.now();
  const fencingToken = { [` at "${'a'.repeat(NAME_LENGTH)}`]: 1 };
  const answer = await run('query ($filter: LockEventFilter) { lockEvents(filter: $filter) { edges { cursor } } }', {
    filter: { fencingToken },
  });
  expectBadInput(answer, 'fencingToken');
  expect(performance.now() - started).toBeLessThan(3_000);
});

test.each(['a', 'a.', '[0]', ' at "', '"'])('a sentence that repeats %j takes little time', (part) => {
  const started = performance.now();
  const message = `Variable "$filter" got invalid value { at "${part.repeat(NAME_LENGTH)}: 1 } at "filter.types[0]"; It is none`;
  expect(presentError(new GraphQLError(message), () => 'id').extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'types' });
  expect(performance.now() - started).toBeLessThan(3_000);
});
