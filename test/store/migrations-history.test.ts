import { describe, expect, test } from 'vitest';
import { compareHistory } from '../../src/store/migrations/history.js';

describe('the comparison of a history', () => {
  const record = (name: string, finished = true, rolledBack = false) => ({ name, finished, rolledBack });

  test('with the same migrations finds nothing to do', () => {
    expect(compareHistory(['a', 'b'], [record('a'), record('b')])).toEqual({ pending: [], unfinished: [], unknown: [] });
  });

  test('counts an unfinished one as pending', () => {
    expect(compareHistory(['a'], [record('a', false)])).toEqual({ pending: ['a'], unfinished: ['a'], unknown: [] });
  });

  test('forgets attempts that were rolled back', () => {
    const records = [record('a', false, true), record('a'), record('z', true, true)];
    expect(compareHistory(['a'], records)).toEqual({ pending: [], unfinished: [], unknown: [] });
  });

  test('names what only the database knows, finished or not', () => {
    expect(compareHistory(['a'], [record('a'), record('y'), record('z', false)])).toMatchObject({ unknown: ['y', 'z'] });
  });
});
