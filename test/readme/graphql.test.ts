import { parse, validate } from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.js';
import { startTestApp } from '../support/app.js';
import { acquireLock, post } from '../support/http-client.js';
import { inLine } from '../support/waiting.js';
import { CODE_BLOCKS, codeBlock } from './readme.js';

const GRAPHQL = CODE_BLOCKS.filter(({ language }) => language === 'graphql');
const run = async (url: string, name: string, variables = {}) => (await post(url, codeBlock('graphql', name).text, variables)).data;

describe('the operations', () => {
  test.each(GRAPHQL.map(({ name, text }) => [name, text]))('%s fits the schema', (_name, text) => {
    expect(validate(schema, parse(text))).toEqual([]);
  });

  test('acquire, renew and release one lock', async () => {
    const { url } = await startTestApp();
    expect((await run(url, 'acquire'))?.['acquireLock']).toMatchObject({
      __typename: 'LockAcquired',
      reacquired: false,
      lock: { fencingToken: '1', metadata: { host: 'app-3' } },
    });
    const token = { token: '1' };
    expect((await run(url, 'renew', token))?.['renewLock']).toMatchObject({
      __typename: 'LockRenewed',
      lock: { fencingToken: '1' },
    });
    expect((await run(url, 'release', token))?.['releaseLock']).toMatchObject({ __typename: 'LockReleased', fencingToken: '1' });
  });

  test('that need a token are refused without one', async () => {
    const { url } = await startTestApp();
    for (const name of ['renew', 'release', 'goodbye', 'free']) {
      const { errors } = await post(url, codeBlock('graphql', name).text);
      expect(errors?.[0]?.message, name).toMatch(/^Variable "\$(token|upTo)" .* was not provided/);
    }
  });

  test('that is retried gets the same acquisition again', async () => {
    const { url } = await startTestApp();
    const first = await run(url, 'retry');
    expect(first?.['acquireLock']).toEqual({ __typename: 'LockAcquired', reacquired: false, lock: { fencingToken: '1' } });
    expect(await run(url, 'retry')).toEqual(first);
  });

  test('with which an operator frees a lock shows its owner, and frees it', async () => {
    const { url } = await startTestApp();
    await acquireLock(url, 'job:stuck', 'worker-7');
    expect((await run(url, 'look'))?.['lock']).toMatchObject({ owner: 'worker-7', fencingToken: '1' });
    expect((await run(url, 'free', { token: '1' }))?.['releaseLock']).toMatchObject({ __typename: 'LockReleased' });
    expect(await run(url, 'look')).toEqual({ lock: null });
  });

  test('waits in line for a lock until it is released', async () => {
    const { url, databaseUrl } = await startTestApp();
    await run(url, 'acquire');
    const waiting = run(url, 'wait');
    await inLine(databaseUrl, 1);
    await run(url, 'release', { token: '1' });
    expect((await waiting)?.['acquireLock']).toMatchObject({ __typename: 'LockAcquired', lock: { fencingToken: '3' } });
  });

  test('take several locks at once, keep them and give them up', async () => {
    const { url } = await startTestApp();
    const names = ['account:7', 'account:9'];
    const { locks } = (await run(url, 'transfer'))?.['acquireLocks'] as { locks: unknown };
    expect(locks).toEqual(names.map((resource, index) => ({ resource, fencingToken: `${index + 1}` })));
    const kept = (await run(url, 'heartbeat'))?.['renewLocks'] as { locks: { resource: string }[]; lost: string[] };
    expect([kept.locks.map(({ resource }) => resource), kept.lost]).toEqual([names, []]);
    const released = names.map((resource) => ({ resource }));
    expect(await run(url, 'goodbye', { upTo: '2' })).toEqual({ releaseLocks: { released, notHeld: [] } });
  });

  test('and every other one is run here', () => {
    expect(GRAPHQL.map(({ name }) => name)).toEqual([
      'acquire',
      'renew',
      'release',
      'wait',
      'transfer',
      'heartbeat',
      'goodbye',
      'retry',
      'look',
      'free',
    ]);
  });
});
