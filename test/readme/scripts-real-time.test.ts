import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { acquireLock, post } from '../support/http-client.js';
import { inLine } from '../support/waiting.js';
import { runScript } from './example.js';
import { CODE_BLOCKS, codeBlock } from './readme.js';

const HOLDER = '{ lock(resource: "report:weekly") { owner fencingToken } }';
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
    await post(url, RELEASE, { input: { resource: 'report:weekly', owner: data?.['lock'].owner } });
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

describe('the script of a leader', () => {
  test('leads as soon as the one before it has gone, and says so when it leads no more', SLOW, async () => {
    const { url, origin, databaseUrl } = await startTestApp();
    await acquireLock(url, 'leader', 'the one before');
    const script = runScript('leader.mjs', origin);
    await script.printed(/^waiting in line, at place 1$/);
    await inLine(databaseUrl, 1);
    await post(url, RELEASE, { input: { resource: 'leader', owner: 'the one before' } });
    await script.printed(/^leader under token 3$/);
    const { data } = await post(url, '{ lock(resource: "leader") { owner } }');
    await post(url, RELEASE, { input: { resource: 'leader', owner: data?.['lock'].owner } });
    await script.printed(/^leader no more: RELEASED$/);
    expect(await script.exited, await script.complaints).toBe(0);
  });
});

describe('the script that makes load', () => {
  test('says how many operations it got done, and leaves nothing behind', SLOW, async () => {
    const { url, origin } = await startTestApp();
    const script = runScript('load.mjs', origin, (text) => text.replace('seconds = 5', 'seconds = 0.5'));
    await script.printed(/^64 under way: [1-9]\d* operations a second$/);
    expect(await script.exited, await script.complaints).toBe(0);
    expect((await post(url, '{ locks { totalCount } }')).data).toEqual({ locks: { totalCount: 0 } });
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

  test('by hand: stops at a query that is wrong, and says what is', SLOW, async () => {
    const { origin } = await startTestApp();
    const script = runScript('resume.mjs', origin, (text) => text.replace('LockBookmark { logId', 'LockBookmark { nothing'));
    expect(await script.exited).toBe(1);
    expect(await script.complaints).toContain('Cannot query field "nothing"');
  });

  test('by urql: stops where the service is down', SLOW, async () => {
    const { origin, close } = await startTestApp();
    await close();
    const script = runScript('urql.mjs', origin);
    expect(await script.exited).toBe(1);
    expect(await script.complaints).toContain('[Network]');
  });

  test('by urql: tells why the watch has ended', SLOW, async () => {
    const { origin } = await startTestApp();
    const script = runScript('urql.mjs', origin, (text) => text.replace('LockSnapshot { complete }', 'LockSnapshot { nothing }'));
    await script.complained(/The watch has ended: .*Cannot query field "nothing"/);
    await script.stop();
  });

  test.each(['apollo.mjs', 'urql.mjs'])(
    'by %s: shows from its cache what is true, also after the server was away',
    SLOW,
    async (name) => {
      const first = await startTestApp();
      const script = runScript(name, first.origin);
      await script.printed(/^job:42: nobody$/);
      // The watch may not have begun yet; what it missed is in its snapshot.
      await acquireLock(first.url, 'job:42', 'anna');
      await script.printed(/^job:42: anna$/);
      await post(first.url, RELEASE, { input: { resource: 'job:42', owner: 'anna' } });
      await expect.poll(() => script.lines.at(-1)).toBe('job:42: nobody');
      await first.close();
      const meanwhile = await startTestApp({ env: { DATABASE_URL: first.databaseUrl } });
      await acquireLock(meanwhile.url, 'job:42', 'bert');
      await meanwhile.close();
      await startTestApp({ env: { DATABASE_URL: first.databaseUrl, PORT: new URL(first.origin).port } });
      await script.printed(/^job:42: bert$/);
      await script.stop();
      expect(await script.complaints).toBe('');
    },
  );

  test.each(['graphql-sse.mjs', 'urql-sse.mjs'])('by %s: gets the snapshot again after the server was away', SLOW, async (name) => {
    const first = await startTestApp();
    const script = runScript(name, first.origin);
    await script.printed(/LockSnapshot/);
    await acquireLock(first.url, 'job:1', 'anna');
    await script.printed(/ACQUIRED/);
    await first.close();
    await startTestApp({ env: { DATABASE_URL: first.databaseUrl, PORT: new URL(first.origin).port } });
    await expect.poll(() => script.lines.filter((line) => line.includes('LockSnapshot')).length, { timeout: 15_000 }).toBe(2);
    await script.stop();
  });

  test('and every other script is run here', () => {
    const names = CODE_BLOCKS.filter(({ language }) => language === 'js').map(({ name }) => name);
    expect(names).toEqual([
      'watch.mjs',
      'resume.mjs',
      'apollo.mjs',
      'urql.mjs',
      'event-source.mjs',
      'graphql-sse.mjs',
      'urql-sse.mjs',
      'leader.mjs',
      'guarded-store.mjs',
      'hold.mjs',
      'load.mjs',
    ]);
  });
});
