import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { ApiError, httpApi, type Answer, type LockApi } from './lock-api.js';

const MAX_TTL_MS = 86_400_000;
const DEFAULT_TTL_MS = 30_000;
const LONGEST_NAME = 255;

async function startApi(): Promise<LockApi> {
  return httpApi((await startTestApp()).url);
}

/** What was said to a request that no limit admits. */
async function refusalOf(answer: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await answer.catch((thrown: unknown) => thrown);
  if (!(error instanceof ApiError)) throw new Error(`It was not refused: ${JSON.stringify(error)}`);
  return error;
}

const lastsFor = ({ lock }: Answer) => Date.parse(lock?.expiresAt ?? '') - Date.parse(lock?.acquiredAt ?? '');

describe('the TTL of an acquire', () => {
  test('of no time, less, a fraction, too much or something else is refused as bad input, and never takes a lock', async () => {
    const api = await startApi();
    const tooMuch = [MAX_TTL_MS + 1, 2 ** 31, 2 ** 53, 8_640_000_000_000_001, 1e300];
    for (const ttlMs of [0, -1, 0.5, '1000', true, [], {}, ...tooMuch]) {
      const { extensions } = await refusalOf(api.acquire('r', 'A', { ttlMs: ttlMs as number }));
      expect(extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument: 'ttlMs' });
    }
    for (const literal of ['0', '-1', '0.5', '1000.0', '1e3', '"1000"', '9007199254740993']) {
      const document = `mutation { acquireLock(input: { resource: "r", owner: "A", ttlMs: ${literal} }) { __typename } }`;
      await refusalOf(api.query(document));
    }
    expect(await api.locks()).toEqual([]);
    expect(await api.events()).toEqual([]);
  });

  test('within its limits, or left out, is exactly how long the lock lasts', async () => {
    const api = await startApi();
    for (const ttlMs of [1, 1_000, MAX_TTL_MS]) expect(lastsFor(await api.acquire(`r:${ttlMs}`, 'A', { ttlMs }))).toBe(ttlMs);
    expect(lastsFor(await api.acquire('r:left-out', 'A'))).toBe(DEFAULT_TTL_MS);
    expect(lastsFor(await api.acquire('r:null', 'A', { ttlMs: null }))).toBe(DEFAULT_TTL_MS);
  });

  test('above the maximum is told what the maximum is, in an acquire as in a renewal', async () => {
    const api = await startApi();
    const { lock } = await api.acquire('r', 'A');
    for (const refused of [api.acquire('r', 'A', { ttlMs: MAX_TTL_MS + 1 }), api.renew('r', 'A', { ttlMs: MAX_TTL_MS + 1 })]) {
      expect((await refusalOf(refused)).message).toContain(String(MAX_TTL_MS));
    }
    expect(await api.lock('r')).toEqual(lock);
  });
});

describe('a name', () => {
  test.each([
    ['is one character too long', 'x'.repeat(LONGEST_NAME + 1)],
    ['is far too long', 'x'.repeat(10_000)],
    ['is one emoji too long', '😀'.repeat(LONGEST_NAME + 1)],
    ['is of spaces alone', '   '],
  ])('that %s is refused wherever it stands, and never takes a lock', async (_, name) => {
    const api = await startApi();
    const refusals = {
      resource: [api.acquire(name, 'A'), api.renew(name, 'A'), api.release(name, 'A'), api.lock(name)],
      owner: [api.acquire('r', name), api.renew('r', name), api.release('r', name), api.locks({ owner: name })],
      requestId: [api.acquire('r', 'A', { requestId: name })],
      prefix: [api.locks({ prefix: name }), api.events({ prefix: name })],
    };
    for (const [argument, answers] of Object.entries(refusals)) {
      for (const answer of answers) {
        const { extensions, message } = await refusalOf(answer);
        expect(extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument });
        expect(message).toContain(String(LONGEST_NAME));
      }
    }
    expect(await api.locks()).toEqual([]);
  });

  test('of the greatest length, in whatever letters, comes back as it was sent', async () => {
    const api = await startApi();
    for (const letter of ['x', 'ä', '😀']) {
      const name = letter.repeat(LONGEST_NAME);
      const expected = { resource: name, owner: name };
      expect((await api.acquire(name, name)).lock).toMatchObject(expected);
      expect(await api.lock(name)).toMatchObject(expected);
      expect(await api.locks({ prefix: name, owner: name })).toMatchObject([expected]);
      expect(await api.events({ resource: name, owner: name })).toMatchObject([expected]);
    }
  });

  test('shares its lock with no other, however alike they are', async () => {
    const api = await startApi();
    const long = '😀'.repeat(LONGEST_NAME - 1);
    const names = [`${long}a`, `${long}b`, long, 'Job', 'job', 'é', 'e\u0301', 'a', 'a/', 'ß', 'ss'];
    const answers = await Promise.all(names.map((name, n) => api.acquire(name, `owner:${n}`)));
    expect(answers.map(({ lock }) => lock?.resource)).toEqual(names);
    expect(await api.locks()).toHaveLength(names.length);
  });
});
