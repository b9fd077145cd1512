import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { acquireLock, post } from '../support/http-client.js';
import { runScript } from './example.js';
import { CODE_BLOCKS, codeBlock } from './readme.js';

const HOLDER = '{ lock(resource: "job:42") { owner fencingToken } }';
const RELEASE = 'mutation ($input: ReleaseLockInput!) { releaseLock(input: $input) { __typename } }';
const SLOW = { timeout: 60_000 };

/** The same work, longer than a test waits. */
const endless = (text: string) => text.replace('step <= 4', 'step <= 400');

describe('the script that guards a store', () => {
  test('prints what is shown', SLOW, async () => {
    const { origin } = await startTestApp();
    const script = runScript('guarded-store.mjs', origin);
    expect(await script.exited, await script.complaints).toBe(0);
    expect(`${script.lines.join('\n')}\n`).toBe(codeBlock('text', 'guarded-store.mjs').text);
  });
});

describe('the script that holds a lock', () => {
  test('holds it for longer than its TTL, and releases it', SLOW, async () => {
    const { url, origin } = await startTestApp();
    const script = runScript('hold.mjs', origin);
    await script.printed(/^step 1 under token 1$/);
    expect((await post(url, HOLDER)).data?.['lock']).toMatchObject({ fencingToken: '1' });
    expect(await script.exited, await script.complaints).toBe(0);
    expect(script.lines).toHaveLength(4);
    expect((await post(url, HOLDER)).data?.['lock']).toBeNull();
  });

  test('stops as lost when somebody else freed it', SLOW, async () => {
    const { url, origin } = await startTestApp();
    const script = runScript('hold.mjs', origin, endless);
    await script.printed(/^step 1 /);
    const { data } = await post(url, HOLDER);
    await post(url, RELEASE, { input: { resource: 'job:42', owner: data?.['lock'].owner } });
    expect(await script.exited).toBe(1);
    expect(await script.complaints).toContain('lost: Nothing is held');
  });

  test('stops as unknown, at the deadline, when nothing answers any more', SLOW, async () => {
    const { origin, close } = await startTestApp();
    const script = runScript('hold.mjs', origin, endless);
    await script.printed(/^step 1 /);
    await close();
    expect(await script.exited).toBe(1);
    expect(await script.complaints).toContain('unknown: no renewal was answered in time');
  });
});

describe('the scripts that watch', () => {
  test('by graphql-ws: knows the holders again after the server was away', SLOW, async () => {
    const first = await startTestApp();
    const script = runScript('watch.mjs', first.origin);
    await script.printed(/^LockSnapshot {}$/);
    await acquireLock(first.url, 'job:1', 'anna');
    await script.printed(/^ACQUIRED { 'job:1': 'anna' }$/);
    await first.close();
    await startTestApp({ env: { DATABASE_URL: first.databaseUrl, PORT: new URL(first.origin).port } });
    await script.printed(/^LockSnapshot { 'job:1': 'anna' }$/);
    await script.stop();
  });

  test('by hand: resumes with what happened meanwhile, and nothing twice', SLOW, async () => {
    const first = await startTestApp();
    const script = runScript('resume.mjs', first.origin);
    await script.printed(/^0 STARTED 0$/);
    await acquireLock(first.url, 'job:1', 'anna');
    await script.printed(/^1 ACQUIRED job:1$/);
    await first.close();
    const meanwhile = await startTestApp({ env: { DATABASE_URL: first.databaseUrl } });
    await acquireLock(meanwhile.url, 'job:2', 'bert');
    await meanwhile.close();
    await startTestApp({ env: { DATABASE_URL: first.databaseUrl, PORT: new URL(first.origin).port } });
    await script.printed(/^2 ACQUIRED job:2$/);
    expect(script.lines.filter((line) => /STARTED|GAP|RESET|1 ACQUIRED/.test(line))).toHaveLength(2);
    await script.stop();
  });

  test('by urql: gets the snapshot and the events, and the answer of a query', SLOW, async () => {
    const { url, origin } = await startTestApp();
    const script = runScript('urql.mjs', origin);
    await script.printed(/LockSnapshot/);
    await script.printed(/^0 held$/);
    await acquireLock(url, 'job:42', 'anna');
    await script.printed(/LockEvent.*ACQUIRED.*anna/);
  });

  test('and every other script is run here', () => {
    const names = CODE_BLOCKS.filter(({ language }) => language === 'js').map(({ name }) => name);
    expect(names).toEqual(['watch.mjs', 'resume.mjs', 'urql.mjs', 'guarded-store.mjs', 'hold.mjs']);
  });
});
