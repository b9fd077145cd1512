import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { OriginPolicy } from '../../src/server/origins.js';
import { startTestApp } from '../support/app.js';
import { acquireLock, ACQUIRE, post } from '../support/http-client.js';
import { WebSocketClient } from '../support/websocket-client.js';

const EVIL = 'evil.example';

/** A request as a browser sends it that was told that the name is this server's. */
async function ask(
  url: string,
  host: string,
  method: string,
  headers: object = {},
  body = '',
): Promise<[number | undefined, string]> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { host, connection: 'close', ...headers }, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.once('end', () => resolve([response.statusCode, text]));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

describe('a page whose name was made to resolve to loopback', () => {
  test('reads nothing and changes nothing', async () => {
    const { url, origin } = await startTestApp();
    await acquireLock(url, 'secret', 'A');
    const host = `${EVIL}:${new URL(origin).port}`;
    const query = `${url}?query=${encodeURIComponent('{ lock(resource: "secret") { owner } }')}`;
    const [status, text] = await ask(query, host, 'GET');
    expect([status, JSON.parse(text)]).toEqual([
      421,
      { errors: [{ message: expect.stringContaining('ALLOWED_HOSTS') as string, extensions: { code: 'BAD_USER_INPUT' } }] },
    ]);
    const headers = { origin: `http://${host}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ query: ACQUIRE, variables: { input: { resource: 'stolen', owner: 'E' } } });
    expect((await ask(url, host, 'POST', headers, body))[0]).toBe(421);
    expect((await ask(url, host, 'OPTIONS', headers))[0]).toBe(421);
    expect((await ask(url, host, 'GET', { accept: 'text/html' }))[0]).toBe(421);
    for (const path of ['/metrics', '/health/ready', '/']) expect((await ask(`${origin}${path}`, host, 'GET'))[0]).toBe(421);
    for (const from of [{ host }, { host, origin: `http://${host}` }] as Record<string, string>[]) {
      expect(await WebSocketClient.statusOfUpgrade(url, { headers: from })).toBe(421);
    }
    expect((await post(url, '{ lock(resource: "stolen") { owner } }')).data).toEqual({ lock: null });
  });

  test('is answered where its name is listed, as a host or as an origin', async () => {
    for (const [variable, value] of Object.entries({ ALLOWED_HOSTS: EVIL, ALLOWED_ORIGINS: `https://${EVIL}` })) {
      const { url } = await startTestApp({ env: { [variable]: value } });
      expect((await ask(`${url}?query={__typename}`, EVIL, 'GET'))[0]).toBe(200);
      expect(await WebSocketClient.statusOfUpgrade(url, { headers: { host: EVIL, origin: `https://${EVIL}` } })).toBe(101);
    }
  });
});

describe('a host', () => {
  const policy = (more: Partial<ConstructorParameters<typeof OriginPolicy>[0]>) =>
    new OriginPolicy({ allowedOrigins: [], allowedHosts: [], loopbackOnly: true, ...more });

  test.each([
    'localhost',
    'LOCALHOST:4000',
    'a.localhost',
    '127.0.0.1',
    '127.1.2.3:80',
    '[::1]:4000',
    '10.0.0.1',
    '[fe80::1]',
    undefined,
  ])('%s is taken on loopback', (host) => {
    expect(policy({}).allowsHost(host)).toBe(true);
  });

  test.each([
    EVIL,
    `${EVIL}:4000`,
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '',
    '[',
    '127.0.0.1@evil.example',
    'a/b',
    '[x]',
    // Addresses that no URL can have.
    'localhost:99999',
    'xn--a.localhost',
    '[1:2]',
  ])('%s is refused on loopback', (host) => {
    expect(policy({}).allowsHost(host)).toBe(false);
  });

  test('is any beyond loopback, until some are listed', () => {
    const allowed = (allowedHosts: readonly string[]) =>
      [EVIL, 'locks.example:443', '10.0.0.1'].map((host) => policy({ loopbackOnly: false, allowedHosts }).allowsHost(host));
    expect(allowed([])).toEqual([true, true, true]);
    expect(allowed(['locks.example'])).toEqual([false, true, true]);
    expect(policy({ loopbackOnly: false }).allowsHost('[')).toBe(false);
  });
});
