import { describe, expect, test } from 'vitest';
import { ConfigError, databaseUrlOf, readConfig } from '../src/config.js';
import { DEFAULT_LIMITS, LIMITS } from '../src/server/limits.js';

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('readConfig', () => {
  test('of an empty environment gives the defaults', () => {
    expect(readConfig({})).toEqual({
      databaseUrl: 'file:./holdfast.db',
      listenUrl: 'file:./holdfast.db',
      host: '127.0.0.1',
      port: 4000,
      defaultTtlMs: 30_000,
      maxTtlMs: 86_400_000,
      maxWaitMs: 300_000,
      retryWindowMs: 600_000,
      retention: { eventAgeMs: 604_800_000, eventRows: 1_000_000, expiredLockAgeMs: 86_400_000 },
      allowedOrigins: [],
      allowedHosts: [],
      graphiql: true,
      introspection: true,
      limits: DEFAULT_LIMITS,
      logLevel: 'info',
    });
  });

  test('gives a value that nobody can change', () => {
    const config = readConfig({});
    expect(
      [config, config.retention, config.allowedOrigins, config.allowedHosts, config.limits].every((value) =>
        Object.isFrozen(value),
      ),
    ).toBe(true);
  });

  test('of an empty variable gives its default', () => {
    expect(readConfig({ PORT: '', HOST: '', ALLOWED_ORIGINS: '' })).toMatchObject({
      port: 4000,
      host: '127.0.0.1',
      allowedOrigins: [],
    });
  });

  test('of several wrong variables names each, with its value and what is allowed', () => {
    expect(problemsOf({ PORT: '70000', LOG_LEVEL: 'loud', GRAPHIQL: 'yes' })).toEqual([
      'PORT="70000": must be a whole number from 0 to 65535',
      'GRAPHIQL="yes": must be one of true, false',
      'LOG_LEVEL="loud": must be one of fatal, error, warn, info, debug, trace, silent',
    ]);
  });

  test.each(['-1', '1.5', '0x10', '1e3', ' 1', '0', '2147483648', 'NaN', '99999999999'])('refuses MAX_TTL_MS=%s', (value) => {
    expect(problemsOf({ MAX_TTL_MS: value })).toEqual([`MAX_TTL_MS="${value}": must be a whole number from 1 to 2147483647`]);
  });

  test.each(Object.entries(LIMITS))('takes the limit of %s from its variable', (name, { variable, fallback, max }) => {
    expect(readConfig({ [variable]: '7' }).limits).toEqual({ ...DEFAULT_LIMITS, [name]: 7 });
    expect(readConfig({ [variable]: '' }).limits).toHaveProperty(name, fallback);
    for (const value of ['0', String(max + 1), 'x']) {
      expect(problemsOf({ [variable]: value })).toEqual([`${variable}="${value}": must be a whole number from 1 to ${max}`]);
    }
  });

  test('takes the largest limit that fits into an Int of GraphQL', () => {
    expect(readConfig({ MAX_TTL_MS: '2147483647' }).maxTtlMs).toBe(2_147_483_647);
  });

  test('refuses a default TTL above the longest', () => {
    expect(problemsOf({ DEFAULT_TTL_MS: '60001', MAX_TTL_MS: '60000' })).toEqual([
      'DEFAULT_TTL_MS="60001": must be at most MAX_TTL_MS, which is 60000',
    ]);
  });

  test.each([
    'file:/var/lib/holdfast.db',
    'postgresql://app:hunter2@db.internal:5433/locks',
    'postgres://app:p%40ss@db/locks?sslmode=require',
    'postgresql://[::1]/locks',
  ])('takes the database %s, and listens there', (url) => {
    expect(readConfig({ DATABASE_URL: url })).toMatchObject({ databaseUrl: url, listenUrl: url });
  });

  test('listens where LISTEN_DATABASE_URL says, or not at all', () => {
    const [pooled, direct] = ['postgresql://pooler/locks', 'postgresql://db/locks'];
    const listenUrlFor = (value: string) => readConfig({ DATABASE_URL: pooled, LISTEN_DATABASE_URL: value }).listenUrl;
    expect([direct, 'none', ''].map(listenUrlFor)).toEqual([direct, null, pooled]);
  });

  test.each(['holdfast.db', 'file:', 'mysql://db', 'file:a?mode=memory', 'postgresql:', 'postgresql://', 'postgresql:/db'])(
    'refuses DATABASE_URL=%s',
    (url) => {
      expect(problemsOf({ DATABASE_URL: url })).toEqual([
        `DATABASE_URL="${url}": must be file: and a path, as in file:./holdfast.db, or postgresql://user:password@host:port/database`,
      ]);
    },
  );

  test.each(['file:./holdfast.db', 'None', 'mysql://db'])('refuses LISTEN_DATABASE_URL=%s', (url) => {
    expect(problemsOf({ LISTEN_DATABASE_URL: url })).toEqual([
      `LISTEN_DATABASE_URL="${url}": must be postgresql://user:password@host:port/database, or none`,
    ]);
  });

  test.each(['postgresql://u:pa#ss@h/db', 'postgresql://u:p@ss/word@h/db', 'postgresql://u:1?ss@h/db', 'postgresql://u:1#ss'])(
    'refuses %s, which must be percent-encoded, and shows nothing of the password',
    (url) => {
      const [problem, ...others] = problemsOf({ DATABASE_URL: url });
      expect(problem).toMatch(/^DATABASE_URL="postgresql:\/\/\*\*\*(@h\/db)?": must be .* percent-encoded: # as %23, \/ as %2F/);
      expect(others).toEqual([]);
    },
  );

  test.each([
    ['postgresql://db', 'must be postgresql://user:password@host:port/database: it names no database'],
    ['postgresql://db/', 'must be postgresql://user:password@host:port/database: it names no database'],
    [
      'postgresql://db/locks?schema=abc&sslmode=require',
      expect.stringMatching(/^must not have the parameter schema: allowed are host, /),
    ],
  ])('refuses %s, of which a part would be ignored, or is missing', (url, problem: unknown) => {
    for (const variable of ['DATABASE_URL', 'LISTEN_DATABASE_URL']) {
      const [found = ''] = problemsOf({ [variable]: url });
      expect(found.slice(0, variable.length + url.length + 5)).toBe(`${variable}="${url}": `);
      expect(found.slice(variable.length + url.length + 5)).toEqual(problem);
    }
  });

  test('refuses LISTEN_DATABASE_URL beside a file, but for none', () => {
    const variables = { DATABASE_URL: 'file:./holdfast.db', LISTEN_DATABASE_URL: 'postgresql://u:secret@db/locks' };
    expect(problemsOf(variables)).toEqual([
      expect.stringMatching(
        /^LISTEN_DATABASE_URL="postgresql:\/\/\*\*\*@db\/locks": must be left out where DATABASE_URL is not PostgreSQL/,
      ),
    ]);
    expect(problemsOf({ ...variables, LISTEN_DATABASE_URL: 'none' })).toEqual([]);
  });

  test.each([
    ['postgres://u:pa/ss@h/db', 'postgres://***@h/db'],
    ['mysql://u:pa@ss@h', 'mysql://***@h'],
    [' postgres://pass@h', '***@h'],
    ['postgres:u:pass@h', 'postgres:***@h'],
    ['pass\nword@h', '***@h'],
    ['mysql://h/db?user=u&password=pass&ssl=on', 'mysql://h/db?user=u&password=***&ssl=on'],
  ])('refuses the database %s without showing its password', (url, shown) => {
    for (const variable of ['DATABASE_URL', 'LISTEN_DATABASE_URL']) {
      expect(problemsOf({ [variable]: url })).toEqual([expect.stringContaining(`${variable}="${shown}": `)]);
    }
  });

  test.each(['0.0.0.0', '::', '10.0.0.7', 'locks.internal'])('refuses to listen on %s without ALLOW_ANONYMOUS', (host) => {
    expect(problemsOf({ HOST: host })).toEqual([
      expect.stringMatching(/^HOST=".+": must be a loopback address .*ALLOW_ANONYMOUS=true/),
    ]);
    expect(readConfig({ HOST: host, ALLOW_ANONYMOUS: 'true' }).host).toBe(host);
  });

  test.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('listens on %s as it is', (host) => {
    expect(readConfig({ HOST: host }).host).toBe(host);
  });

  test('takes a list of origins', () => {
    const { allowedOrigins } = readConfig({ ALLOWED_ORIGINS: 'https://a.example, http://b.example:8080' });
    expect(allowedOrigins).toEqual(['https://a.example', 'http://b.example:8080']);
  });

  test.each(['*', 'null', 'https://a.example/', 'a.example', 'https://a.example/path', 'https://A.example'])(
    'refuses the origin %s',
    (origin) => {
      expect(problemsOf({ ALLOWED_ORIGINS: origin })).toEqual([
        `ALLOWED_ORIGINS="${origin}": must be a comma-separated list of origins, as in https://app.example.com`,
      ]);
    },
  );

  test('takes a list of host names, whose case does not matter', () => {
    expect(readConfig({ ALLOWED_HOSTS: 'Locks.Example, my_host' }).allowedHosts).toEqual(['locks.example', 'my_host']);
  });

  test.each(['*', '*.example', 'locks.example:4000', 'http://locks.example', 'a..b', '[::1]'])('refuses the host %s', (host) => {
    expect(problemsOf({ ALLOWED_HOSTS: host })).toEqual([
      `ALLOWED_HOSTS="${host}": must be a comma-separated list of host names, without ports, as in locks.example.com`,
    ]);
  });
});

test('a DATABASE_URL that is wrong is refused by every tool in the same words', () => {
  const environment = { DATABASE_URL: 'postgresql://u:secret@db' };
  expect(() => databaseUrlOf(environment)).toThrow(problemsOf(environment)[0]);
});

test.each([
  ['that is left out', {}],
  ['that is empty', { DATABASE_URL: '' }],
])('a DATABASE_URL %s names the same database for every tool', (_, environment) => {
  expect(databaseUrlOf(environment)).toBe(readConfig(environment).databaseUrl);
});
