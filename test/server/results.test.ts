import { GraphQLError, type ExecutionResult } from 'graphql';
import { expect, test, vi } from 'vitest';
import { Results } from '../../src/server/results.js';

/** Results of numbered items; what the source or the execution does wrong is masked as `masked: ` and its message. */
function fixture({ items = [1, 2], failure }: { items?: readonly number[]; failure?: Error } = {}) {
  const left = [...items];
  const end = vi.fn(() => Promise.resolve({ done: true as const, value: undefined }));
  const source: AsyncIterator<object, void> = {
    next: () => {
      const number = left.shift();
      if (number !== undefined) return Promise.resolve({ done: false, value: { number } });
      return failure === undefined ? Promise.resolve({ done: true, value: undefined }) : Promise.reject(failure);
    },
    return: end,
  };
  const execute = vi.fn((item: object): ExecutionResult | Promise<ExecutionResult> => ({ data: { ...item } }));
  const ended = vi.fn();
  const results = new Results(source, execute, (error) => new GraphQLError(`masked: ${(error as Error).message}`), ended);
  return { results, execute, end, ended };
}

test('each item has its result, and the end of the source is the end', async () => {
  const { results, ended } = fixture();
  const told: ExecutionResult[] = [];
  for await (const result of results) told.push(result);
  expect(told).toEqual([{ data: { number: 1 } }, { data: { number: 2 } }]);
  expect(ended).toHaveBeenCalledOnce();
});

test('a result that has to be waited for is', async () => {
  const { results, execute } = fixture();
  execute.mockReturnValue(Promise.resolve({ data: { later: true } }));
  expect(await results.next()).toEqual({ done: false, value: { data: { later: true } } });
});

test('a source that breaks is ended, and its error is masked', async () => {
  const { results, end, ended } = fixture({ items: [], failure: new Error('secret') });
  await expect(results.next()).rejects.toThrow('masked: secret');
  expect(end).toHaveBeenCalledOnce();
  expect(ended).toHaveBeenCalledOnce();
});

test('an execution that fails ends the source, and its error is masked', async () => {
  const { results, execute, end, ended } = fixture();
  execute.mockImplementation(() => {
    throw new Error('fault');
  });
  await expect(results.next()).rejects.toThrow('masked: fault');
  expect(end).toHaveBeenCalledOnce();
  expect(ended).toHaveBeenCalledOnce();
});

test('whoever returns it ends the source, and is counted once', async () => {
  const { results, end, ended } = fixture();
  await results.return();
  await results.return();
  await expect(results.throw(new Error('why'))).rejects.toThrow('why');
  expect(end).toHaveBeenCalled();
  expect(ended).toHaveBeenCalledOnce();
});
