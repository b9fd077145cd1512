import { isEnumType, isUnionType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.js';
import { startTestApp } from '../support/app.js';
import { post } from '../support/http-client.js';
import { ManualTime } from '../support/manual-time.js';
import { codeIn, tableBelow } from './readme.js';

const FIELDS = {
  acquireLock: '... on LockAcquired { reacquired } ... on Conflict { reason }',
  renewLock: '... on Conflict { reason }',
  releaseLock: '... on Conflict { reason }',
};
type Mutation = keyof typeof FIELDS;

/** A service in which `job` is held by anna under token 1, acquired with the requestId r1. */
async function startHeld() {
  const time = new ManualTime();
  const { url } = await startTestApp({ time });
  const send = async (mutation: Mutation, input: object): Promise<readonly string[]> => {
    const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input`;
    const query = `mutation ($input: ${type}!) { answer: ${mutation}(input: $input) { __typename ${FIELDS[mutation]} } }`;
    const { data, errors } = await post(url, query, { input: { resource: 'job', owner: 'anna', ...input } });
    expect(errors).toBeUndefined();
    const { __typename, reason, reacquired } = data?.['answer'] as Record<string, string | boolean | undefined>;
    return [String(__typename), ...(reason === undefined ? [] : [String(reason)]), ...flag(reacquired)];
  };
  await send('acquireLock', { requestId: 'r1', ttlMs: 30_000 });
  return { send, expire: () => time.advance(30_000) };
}

const flag = (reacquired: string | boolean | undefined) => (reacquired === undefined ? [] : [`reacquired: ${reacquired}`]);

type Held = Awaited<ReturnType<typeof startHeld>>;

/** How to come to each row of a table, in its order. */
const WAYS: Readonly<Record<Mutation, readonly ((held: Held) => Promise<readonly string[]>)[]>> = {
  acquireLock: [
    ({ send }) => send('acquireLock', { requestId: 'r1' }),
    async ({ send }) => {
      await send('releaseLock', {});
      return send('acquireLock', { requestId: 'r1' });
    },
    async ({ send, expire }) => {
      expire();
      return send('acquireLock', {});
    },
    ({ send }) => send('acquireLock', { reacquire: false }),
    ({ send }) => send('acquireLock', {}),
    ({ send }) => send('acquireLock', { owner: 'bert' }),
    ({ send }) => send('acquireLock', { owner: 'bert', waitMs: 20 }),
    async ({ send }) => {
      await send('acquireLock', { owner: 'bert', resource: 'other' });
      const waiting = send('acquireLock', { resource: 'other', waitMs: 1_000 });
      const circle = { owner: 'bert', waitMs: 1, detectDeadlock: true };
      await expect.poll(() => send('acquireLock', circle)).toContain('DEADLOCK');
      const answer = await send('acquireLock', circle);
      await waiting;
      return answer;
    },
  ],
  renewLock: [
    ({ send }) => send('renewLock', { resource: 'free' }),
    async ({ send, expire }) => {
      expire();
      return send('renewLock', { owner: 'bert', fencingToken: '9' });
    },
    ({ send }) => send('renewLock', { owner: 'bert', fencingToken: '9' }),
    ({ send }) => send('renewLock', { fencingToken: '9' }),
    ({ send }) => send('renewLock', {}),
  ],
  releaseLock: [
    async ({ send }) => {
      await send('releaseLock', {});
      await send('acquireLock', { owner: 'bert' });
      return send('releaseLock', { fencingToken: '1' });
    },
    async ({ send, expire }) => {
      expire();
      return send('releaseLock', { fencingToken: '9' });
    },
    ({ send }) => send('releaseLock', { owner: 'bert', fencingToken: '1' }),
    ({ send }) => send('releaseLock', { fencingToken: '9' }),
    ({ send }) => send('releaseLock', {}),
  ],
};

const documented = (mutation: Mutation) =>
  tableBelow(`### ${mutation}`, 'if | the answer is | and').map((row) => codeIn(row[1] ?? ''));

/** `LockAcquired` is told apart by `reacquired` only where the table does. */
const matches = (answer: readonly string[], row: readonly string[]) => row.every((part) => answer.includes(part));

describe.each(Object.keys(WAYS) as Mutation[])('the table of %s', (mutation) => {
  const rows = documented(mutation);

  test('has a row for each way', () => {
    expect(rows).toHaveLength(WAYS[mutation].length);
  });

  test.each(rows.map((row, index) => [index + 1, row.join(' '), row] as const))(
    'row %i is answered with %s',
    async (number, _title, row) => {
      const answer = await WAYS[mutation][number - 1]?.(await startHeld());
      expect(answer).toSatisfy((given: readonly string[]) => matches(given, row));
    },
  );

  test('names every member of the union', () => {
    const union = schema.getType(`${mutation[0]?.toUpperCase()}${mutation.slice(1)}Result`);
    const members = isUnionType(union) ? union.getTypes().map(({ name }) => name) : [];
    expect(new Set(rows.map(([member]) => member))).toEqual(new Set(members));
  });
});

test('the tables name every reason of a conflict', () => {
  const type = schema.getType('ConflictReason');
  const reasons = isEnumType(type) ? type.getValues().map(({ name }) => name) : [];
  const named = (Object.keys(WAYS) as Mutation[]).flatMap(documented).filter(([member]) => member === 'Conflict');
  expect(new Set(named.map(([, reason]) => reason))).toEqual(new Set(reasons));
});
