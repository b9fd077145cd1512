import { Client, fetchExchange } from '@urql/core';
import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';

test('urql, as it comes, queries by GET and changes by POST', async () => {
  const { url } = await startTestApp();
  const client = new Client({ url, exchanges: [fetchExchange] });
  const acquire = 'mutation ($owner: String!) { acquireLock(input: { resource: "job:42", owner: $owner }) { __typename } }';
  const changed = await client.mutation(acquire, { owner: 'anna' }).toPromise();
  expect(changed.data).toEqual({ acquireLock: { __typename: 'LockAcquired' } });
  const read = await client.query('{ lock(resource: "job:42") { owner } }', {}).toPromise();
  expect(read.data).toEqual({ lock: { owner: 'anna' } });
});
