import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/server/limits.js';
import { startTestApp } from '../support/app.js';
import { post, postBody, readAnswer } from '../support/http-client.js';
import { shared } from '../support/shared.js';
import { connectRaw, requestOf } from './raw-http.js';

const MUTATION = 'mutation { acquireLock(input: { resource: "job:1", owner: "A" }) { __typename } }';
const HELD = '{ lock(resource: "job:1") { owner } }';
const JSON_TYPE = { 'content-type': 'application/json' };
const EVIL = 'https://evil.example';

/** On which nothing is ever changed. */
const untouchedApp = shared(() => startTestApp());
const appOfOrigin = shared(() => startTestApp({ env: { ALLOWED_ORIGINS: 'https://app.example' } }));

describe('a request that another site can make a browser send', () => {
  const body = JSON.stringify({ query: MUTATION });
  const form = new URLSearchParams({ query: MUTATION }).toString();
  const multipart =
    '--x\r\ncontent-disposition: form-data; name="operations"\r\n\r\n' +
    `${body}\r\n--x\r\ncontent-disposition: form-data; name="map"\r\n\r\n{}\r\n--x--\r\n`;

  test.each([
    ['text', body, 'text/plain'],
    ['text that claims to be JSON as well', body, 'text/plain; application/json'],
    ['a form', form, 'application/x-www-form-urlencoded'],
    ['a multipart form', multipart, 'multipart/form-data; boundary=x'],
    ['a bare document', MUTATION, 'application/graphql'],
    ['JSON of another encoding', body, 'application/json; charset=utf-16'],
  ])('as %s changes nothing: 415', async (_, content, type) => {
    const { url } = await untouchedApp();
    expect((await postBody(url, content, { 'content-type': type })).status).toBe(415);
    expect((await post(url, HELD)).data).toEqual({ lock: null });
  });

  test('as a GET of a mutation changes nothing: 405', async () => {
    const { url } = await untouchedApp();
    const response = await fetch(`${url}?query=${encodeURIComponent(MUTATION)}`);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
    expect((await readAnswer(response)).errors?.[0]?.extensions).toEqual({ code: 'BAD_USER_INPUT' });
    expect((await post(url, HELD)).data).toEqual({ lock: null });
  });

  test.each([EVIL, 'null'])('from the origin %s changes nothing, and is not echoed', async (origin) => {
    const { url } = await appOfOrigin();
    const { status, headers, errors } = await post(url, MUTATION, {}, { origin });
    expect(status).toBe(403);
    expect(errors?.[0]?.message).toContain('ALLOWED_ORIGINS');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect((await post(url, HELD)).data).toEqual({ lock: null });
  });
});

describe('a preflight', () => {
  const ask = async (url: string, origin: string) =>
    fetch(url, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
    });

  test('of a foreign origin is refused', async () => {
    const response = await ask((await untouchedApp()).url, EVIL);
    expect(response.status).toBe(403);
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test('of a listed origin is granted to it alone, without credentials', async () => {
    const { url } = await appOfOrigin();
    const { status, headers } = await ask(url, 'https://app.example');
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('access-control-allow-headers')).toBe('content-type, x-request-id, last-event-id');
    expect(headers.get('vary')).toBe('origin');
  });
});

describe('a request', () => {
  test('of a program, without an origin, is answered', async () => {
    const { url } = await startTestApp();
    expect((await post(url, MUTATION)).data).toEqual({ acquireLock: { __typename: 'LockAcquired' } });
  });

  test("of the server's own page is answered", async () => {
    const { url, origin } = await untouchedApp();
    expect((await post(url, HELD, {}, { origin })).status).toBe(200);
  });

  test('of a query by GET is answered', async () => {
    const { url } = await untouchedApp();
    const answer = await readAnswer(await fetch(`${url}?query=${encodeURIComponent(HELD)}`));
    expect(answer.data).toEqual({ lock: null });
  });

  test.each(['variables', 'extensions'])('by GET whose %s can not be read is refused, and is no fault', async (name) => {
    const { url, metric, logLines } = await untouchedApp();
    for (const value of ['{', 'x', '{"a":}', '[]', '7', '"x"']) {
      const query = new URLSearchParams({ query: HELD, [name]: value }).toString();
      const answer = await readAnswer(await fetch(`${url}?${query}`));
      expect([value, answer.status, answer.errors?.[0]?.extensions]).toEqual([value, 400, { code: 'BAD_USER_INPUT' }]);
    }
    expect(await metric('holdfast_faults_total')).toBe(0);
    expect(logLines.join()).not.toContain('internal error');
  });

  test.each(['as long as it says', 'in chunks'])('that is too large, %s, is refused: 413', async (title) => {
    const { url } = await untouchedApp();
    const text = JSON.stringify({ query: `{ lock(resource: "${'x'.repeat(DEFAULT_LIMITS.messageBytes)}") { id } }` });
    const body = title === 'in chunks' ? new Blob([text]).stream() : text;
    const response = await fetch(url, { method: 'POST', body, headers: JSON_TYPE, duplex: 'half' } as RequestInit);
    expect(response.status).toBe(413);
    expect((await readAnswer(response)).errors?.[0]?.extensions['code']).toBe('OPERATION_LIMIT_EXCEEDED');
  });

  test('from a client that takes no type of ours is refused before anything is done: 406', async () => {
    const { url } = await untouchedApp();
    for (const accept of ['text/html', 'image/*', 'application/json;q=0', 'multipart/mixed']) {
      const { status, errors } = await post(url, MUTATION, {}, { accept });
      expect([status, errors?.[0]?.extensions]).toEqual([406, { code: 'BAD_USER_INPUT' }]);
      expect(errors?.[0]?.message).toContain('application/graphql-response+json');
    }
    expect((await post(url, HELD)).data).toEqual({ lock: null });
  });

  test('of a batch is refused', async () => {
    const { url } = await untouchedApp();
    const { status, errors } = await postBody(url, JSON.stringify([{ query: HELD }, { query: HELD }]), JSON_TYPE);
    expect([status, errors?.[0]?.extensions['code']]).toEqual([400, 'BAD_USER_INPUT']);
  });

  test.each(['application/json', 'application/graphql-response+json', 'text/event-stream'])(
    'of a body that is not UTF-8, from a client that takes %s, is refused: names that differ stay apart',
    async (accept) => {
      const { url } = await untouchedApp();
      const query = MUTATION.replace('job:1', 'job:\xff');
      const body = Buffer.from(JSON.stringify({ query }), 'latin1');
      const response = await fetch(url, { method: 'POST', body, headers: { ...JSON_TYPE, accept } });
      expect(response.status).toBe(400);
      expect((await readAnswer(response)).errors?.[0]).toMatchObject({
        message: 'The body is not UTF-8',
        extensions: { code: 'BAD_USER_INPUT' },
      });
      expect((await post(url, '{ locks { totalCount } }')).data).toEqual({ locks: { totalCount: 0 } });
    },
  );

  test.each([
    ['a syntax error', '{ lock(', {}, 'GRAPHQL_PARSE_FAILED'],
    ['an unknown field', '{ nothing }', {}, 'GRAPHQL_VALIDATION_FAILED'],
    ['an operation that is not there', '', {}, 'GRAPHQL_PARSE_FAILED'],
    [
      'a variable that can not be read',
      'query ($first: Int) { locks(first: $first) { totalCount } }',
      { first: 'x' },
      'BAD_USER_INPUT',
    ],
    ['a variable that is left out', 'query ($name: String!) { lock(resource: $name) { id } }', {}, 'BAD_USER_INPUT'],
  ])('with %s says so by its code', async (_, query, variables, code) => {
    const { url } = await untouchedApp();
    for (const [accept, status] of [
      ['application/json', 200],
      ['application/graphql-response+json', 400],
    ] as const) {
      const answer = await post(url, query, variables, { accept });
      expect([answer.status, answer.errors?.[0]?.extensions['code'], answer.data]).toEqual([status, code, undefined]);
    }
  });

  test('with an unknown path is not found, in a few words', async () => {
    const { origin } = await untouchedApp();
    for (const path of ['/', '/graphql/', '/graphqlx', '/health', '/favicon.ico']) {
      const response = await fetch(`${origin}${path}`, { headers: { accept: 'text/html' } });
      expect([path, response.status, await response.text()]).toEqual([path, 404, 'Not found: GraphQL is at /graphql\n']);
    }
  });

  test('keeps a sane request id, and gets one where it has none', async () => {
    const { url } = await untouchedApp();
    const idFor = async (given: string) => (await post(url, HELD, {}, { 'x-request-id': given })).headers.get('x-request-id');
    expect(await idFor('trace-1:2')).toBe('trace-1:2');
    expect(await idFor('"quoted" and long')).toMatch(/^[\da-f-]{36}$/);
  });

  test('gets no page to sniff or to frame, whatever the answer', async () => {
    const { url, origin } = await untouchedApp();
    const asked = [
      fetch(url, { method: 'POST', headers: JSON_TYPE, body: '{"query":"{ __typename }"}' }),
      fetch(`${url}?query={__typename}`),
      fetch(url, { method: 'POST', body: 'x' }),
      fetch(url, { headers: { origin: EVIL } }),
      ...['/', '/metrics', '/health/live'].map((path) => fetch(`${origin}${path}`)),
    ];
    for (const { status, headers, body } of await Promise.all(asked)) {
      const of = (name: string) => headers.get(name);
      expect([status, of('x-content-type-options'), of('x-frame-options'), of('referrer-policy')]).toEqual([
        status,
        ...['nosniff', 'DENY', 'no-referrer'],
      ]);
      expect(of('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
      expect(of('cross-origin-resource-policy')).toBe('same-origin');
      expect([...headers.keys()].filter((name) => name.startsWith('access-control') || name === 'set-cookie')).toEqual([]);
      await body?.cancel();
    }
  });
});

describe('a caller that leaves before its body is sent', () => {
  test('behind a request of its own that still waits is no fault of the server', async () => {
    const app = await startTestApp();
    await post(app.url, MUTATION);
    const wait = 'mutation { acquireLock(input: { resource: "job:1", owner: "B", waitMs: 60000 }) { __typename } }';
    const socket = await connectRaw(app.origin);
    const head = ['POST /graphql HTTP/1.1', 'host: localhost', 'content-type: application/json'];
    socket.write(requestOf(head, JSON.stringify({ query: wait })) + requestOf([...head, 'content-length: 9', '', '{']));
    await expect.poll(() => app.metric('holdfast_waiting_calls')).toBe(1);
    socket.destroy();
    await expect.poll(() => app.metric('holdfast_waiting_calls')).toBe(0);
    expect(await app.metric('holdfast_faults_total')).toBe(0);
    expect(app.logLines.filter((line) => line.includes('internal error'))).toEqual([]);
    expect(await app.metric('holdfast_http_requests_total{path="/graphql",status="aborted"}')).toBe(2);
  });

  test('is counted as aborted, not as answered', async () => {
    const { url, metric } = await startTestApp();
    const sent = request(url, { method: 'POST', headers: { ...JSON_TYPE, 'content-length': '100', expect: '100-continue' } });
    sent.on('error', () => undefined);
    sent.flushHeaders();
    await once(sent, 'continue');
    sent.destroy();
    await expect.poll(() => metric('holdfast_http_requests_total{path="/graphql",status="aborted"}').catch(() => 0)).toBe(1);
    await expect(metric('holdfast_http_requests_total{path="/graphql",status="200"}')).rejects.toThrow('There is no metric');
  });
});

describe('a switch', () => {
  test('for introspection that is off hides the schema, and leaves __typename', async () => {
    const { url } = await startTestApp({ env: { INTROSPECTION: 'false' } });
    const { errors } = await post(url, '{ __schema { types { name } } }');
    expect(errors?.[0]?.extensions['code']).toBe('GRAPHQL_VALIDATION_FAILED');
    expect((await post(url, '{ __typename }')).data).toEqual({ __typename: 'Query' });
  });

  test('for GraphiQL that is off leaves no page', async () => {
    const { url } = await startTestApp({ env: { GRAPHIQL: 'false' } });
    const response = await fetch(url, { headers: { accept: 'text/html' } });
    expect(response.status).not.toBe(200);
    expect(await response.text()).not.toContain('<html');
  });

  test('for GraphiQL that is on gives a page, zipped, which is not sent twice', async () => {
    const { url } = await untouchedApp();
    const first = await fetch(url, { headers: { accept: 'text/html,*/*' } });
    expect([first.status, first.headers.get('content-encoding')]).toEqual([200, 'gzip']);
    const policy = first.headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[\w+/=]{44}' blob:; /);
    expect(policy).toContain("connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    expect(first.headers.get('x-frame-options')).toBe('DENY');
    expect(await first.text()).toContain('<title>Holdfast</title>');
    const again = await fetch(url, { headers: { accept: 'text/html,*/*', 'if-none-match': first.headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
  });
});
