import { Client, fetchExchange } from '@urql/core';
import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { codeBlock } from './readme.js';

test('urql, set as it is shown, queries and changes', async () => {
  expect(codeBlock('js', 'urql.mjs').text).toContain('preferGetMethod: false');
  const { url } = await startTestApp();
  const client = new Client({ url, preferGetMethod: false, exchanges: [fetchExchange] });
  const acquire = 'mutation ($owner: String!) { acquireLock(input: { resource: "job:42", owner: $owner }) { __typename } }';
  const changed = await client.mutation(acquire, { owner: 'anna' }).toPromise();
  expect(changed.data).toEqual({ acquireLock: { __typename: 'LockAcquired' } });
  const read = await client.query('{ lock(resource: "job:42") { owner } }', {}).toPromise();
  expect(read.data).toEqual({ lock: { owner: 'anna' } });
});
