import { describe, expect, it, test } from 'vitest';
import { acceptedTypes } from '../../src/server/accept.js';
import { startTestApp } from '../support/app.js';
import { shared } from '../support/shared.js';

/** What urql sends with every operation. */
const EVERYTHING =
  'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed';
const QUERY = '{ lock(resource: "r") { id } }';
const SUBSCRIPTION = 'subscription { lockChanges { __typename } }';

const app = shared(() => startTestApp());

async function ask(url: string, method: string, query: string, accept: string): Promise<Response> {
  const headers = { accept, 'content-type': 'application/json' };
  return method === 'GET'
    ? fetch(`${url}?query=${encodeURIComponent(query)}`, { headers })
    : fetch(url, { method, headers, body: JSON.stringify({ query }) });
}

for (const method of ['GET', 'POST']) {
  it(`a query by ${method} from a client that takes everything is answered with JSON`, async () => {
    const { url } = await app();
    const response = await ask(url, method, QUERY, EVERYTHING);
    expect(response.headers.get('content-type')).toContain('application/graphql-response+json');
    expect(await response.json()).toEqual({ data: { lock: null } });
  });

  it(`a subscription by ${method} from a client that takes everything is answered with a stream of events`, async () => {
    const { url } = await app();
    const response = await ask(url, method, SUBSCRIPTION, EVERYTHING);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const reader = response.body?.getReader();
    let text = '';
    while (!text.includes('LockSnapshot')) text += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
  });

  it(`a query by ${method} is answered with the type that is rather taken`, async () => {
    const { url } = await app();
    const response = await ask(url, method, QUERY, 'application/json;q=0.5, application/graphql-response+json');
    expect(response.headers.get('content-type')).toContain('application/graphql-response+json');
    await response.body?.cancel();
  });

  it(`a subscription by ${method} from a client that takes no stream of events is told what it needs`, async () => {
    const { url } = await app();
    const response = await ask(url, method, SUBSCRIPTION, 'text/event-stream;q=0, application/json');
    expect(response.status).toBe(406);
    await response.body?.cancel();
  });

  it(`a subscription by ${method} from a client that takes JSON only is told what it needs`, async () => {
    const { url } = await app();
    const response = await ask(url, method, SUBSCRIPTION, 'application/json');
    expect(response.status).toBe(406);
    expect(await response.json()).toMatchObject({ errors: [{ message: expect.stringContaining('text/event-stream') as string }] });
  });
}

describe('an Accept header', () => {
  const JSON_TYPE = 'application/json';
  const RESPONSE_TYPE = 'application/graphql-response+json';
  const EVENT_STREAM = 'text/event-stream';

  test.each([
    [undefined, [JSON_TYPE]],
    ['', [JSON_TYPE]],
    ['*/*', [JSON_TYPE, RESPONSE_TYPE]],
    ['image/png', []],
    [`${RESPONSE_TYPE}, ${JSON_TYPE}`, [RESPONSE_TYPE, JSON_TYPE]],
    [`${JSON_TYPE}; Q=0.5, ${RESPONSE_TYPE}`, [RESPONSE_TYPE, JSON_TYPE]],
    [`${JSON_TYPE};q=0`, []],
    [`${JSON_TYPE};q=0, */*`, [RESPONSE_TYPE]],
    [`*/*, ${JSON_TYPE};q=0.000`, [RESPONSE_TYPE]],
    [`application/*;q=0.1, ${EVENT_STREAM};q=0.2`, [EVENT_STREAM, JSON_TYPE, RESPONSE_TYPE]],
    [`${EVENT_STREAM};q=0, ${JSON_TYPE}`, [JSON_TYPE]],
    [`${JSON_TYPE};charset=utf-16, ${RESPONSE_TYPE};charset=utf-8`, [RESPONSE_TYPE]],
  ])('of %s takes %j', (accept, types) => {
    expect(acceptedTypes(accept)).toEqual(types);
  });
});
